"""record: inside the training process. Values in, records on disk out.

Never reads a log, never imports read, and never stops the job it runs in.
"""
