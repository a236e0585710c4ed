"""tbformat: TensorBoard's binary formats. Protobuf bytes to values and back.

In: the bytes of one value, with its tag's metadata. Out: the value classes of core, such as Histogram and Image. For
writers the other way around: values in, encoded Events and Summary.Values out.

It never opens a file, keeps no state, never trusts a length or a shape that a file states, and needs no protobuf
library. NumPy is imported when the first array is decoded.
"""
