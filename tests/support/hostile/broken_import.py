raise OSError("libneeded.so: cannot open shared object file")
