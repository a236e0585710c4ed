"""core: the words every room shares. Series, the kinds of logged value, notes, errors.

Plain data: opens no file, knows no format, imports no other room and nothing beyond the standard
library. Arrays are NumPy's, but whoever makes them brings NumPy along.
"""
