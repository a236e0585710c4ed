"""instruments: arrays and models in, numbers ready for `run.log` out.

One quantity a file, each declaring its tags, units, meaning, expected behaviour and cadence (declare.py). Takes
tensors of any device and does not wait for it; NumPy and JAX arrays need no torch. Changes nothing that it measures.
"""
