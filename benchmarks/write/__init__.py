"""write: what logging costs the training thread, compared with other loggers."""
