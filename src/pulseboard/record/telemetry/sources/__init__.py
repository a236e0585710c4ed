"""sources: one file a source, named for its id."""
