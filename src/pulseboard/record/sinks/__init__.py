"""sinks: one file a sink, named for its id."""
