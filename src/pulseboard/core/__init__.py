"""core: the types every room shares. Series, logged values, findings, notes, errors.

Plain data. Opens no file, knows no file format, imports no other room and nothing heavy: arrays are NumPy arrays, but
only the code that creates them imports NumPy.
"""
