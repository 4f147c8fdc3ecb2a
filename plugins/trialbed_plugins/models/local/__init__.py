"""Models on this machine, ``local:NAME`` or ``local:FILE.gguf``. They are served by llama.cpp in its own process."""
