"""GPUs: faults, throttling and use."""
