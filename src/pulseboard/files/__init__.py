"""files: the disk contract. Names and layout of a run, the wire format, and what each logged value means.

Bytes in, the words of core out, and back. Never does I/O beyond asking whether a path exists, keeps
no state, trusts no length or shape that a file states, and needs no protobuf library. NumPy is
loaded when the first array is decoded.
"""
