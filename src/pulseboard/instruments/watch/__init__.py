"""watch: the engine behind `pb.watch`. Hooks on a model and its optimizer, measured within a time budget."""
