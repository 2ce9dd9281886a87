# What the folders are made into: the library and the command line, plus tests that span folders.
