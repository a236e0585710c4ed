"""files: the disk contract. Names and layout of a run, archives, the wire format, and what each value means.

Decoding is bytes in, the words of core out, and back. It never does I/O, keeps no state, trusts no
length or shape that a file states, and needs no protobuf library. NumPy is loaded when the first
array is decoded. Only archive.py touches the disk beyond asking whether a path exists.
"""
