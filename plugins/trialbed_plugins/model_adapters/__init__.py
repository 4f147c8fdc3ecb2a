"""Model adapters, drivers of ``trialbed.model_adapters``. They change requests for families of models."""
