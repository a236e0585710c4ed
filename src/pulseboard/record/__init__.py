"""record: runs inside the training process. Values come in, records on disk go out.

Never reads event files, never imports read, and never stops the training.
"""
