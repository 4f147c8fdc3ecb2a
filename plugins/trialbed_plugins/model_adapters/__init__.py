"""Model adapters: what families of models need changed in requests; each is a driver of ``trialbed.model_adapters``."""
