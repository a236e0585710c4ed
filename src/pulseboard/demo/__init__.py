"""demo: small trainings in NumPy, one healthy and three broken, recorded like any other training.

Each file in `trainings/` is one model that learns, or fails to learn for the reason in its docstring. The numbers come
from real gradients. Never reads a log and never serves one; `pulseboard demo` does.
"""
