"""metrics: one subject per file. Arrays and models in, numbers ready for `run.log` out.

To add an instrument, add a file: `all_instruments()` finds it.
"""
