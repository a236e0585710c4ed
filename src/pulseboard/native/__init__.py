"""native: the compiled kernel. Frames, checksums, Events to columns and back, numbers to histograms.

Bytes in, columns out, with the GIL released. Knows no path layout, no run, no Python object in
its loops, and imports nothing of pulseboard.
"""
