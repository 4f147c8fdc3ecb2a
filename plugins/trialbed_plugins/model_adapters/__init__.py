"""Model adapters: the changes that families of models need in requests; drivers of ``trialbed.model_adapters``."""
