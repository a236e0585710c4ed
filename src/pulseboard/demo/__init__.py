"""demo: small trainings in NumPy alone, each with a fate of its own, recorded as any training is.

A file in `trainings/` is a model that learns, or fails to, for a reason that its first lines say. Nothing here is
played: the numbers are those of real gradients. Never reads a log and never serves one; `pulseboard demo` does.
"""
