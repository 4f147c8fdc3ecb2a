"""Models on this machine: ``local:NAME``, ``local:FILE.gguf``; llama.cpp serves them in a process of its own."""
