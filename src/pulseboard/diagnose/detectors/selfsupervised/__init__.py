"""Self-supervised training: collapse, masks and predictions."""
