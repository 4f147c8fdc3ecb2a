"""The old address of ``python -m trialbed_adapter_kit``."""

from runpy import run_module

if __name__ == "__main__":
    run_module("trialbed_adapter_kit", run_name="__main__", alter_sys=True)
