"""kernel: the compiled code. Event files to columns, scalars to records, numbers to histograms, series to pixels.

In: bytes, paths of event files, and buffers of numbers. Out: columns, encoded records, bucket counts, chart columns and
change alarms, as bytes and tuples that NumPy wraps without copying. The C and Cython loops run with the GIL released.

It never imports the rest of pulseboard, never trusts a length or an offset that a file states, and never decides what
a run, a tag or a directory means.
"""
