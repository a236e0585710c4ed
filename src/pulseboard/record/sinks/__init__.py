"""sinks: one file per sink, named after its id. Each file declares the sink and its settings."""
