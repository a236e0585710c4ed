"""event_files: TensorBoard event files, joined into one timeline for each run."""
