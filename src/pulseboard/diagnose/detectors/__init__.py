"""One detector a file; each declares its slug and the roles it reads."""
