"""Self-supervised training: collapse, target networks, masks and predictions."""
