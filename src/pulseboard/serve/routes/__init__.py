"""routes: the interface, one file a subject. A function declares its own row with `@endpoint`."""
