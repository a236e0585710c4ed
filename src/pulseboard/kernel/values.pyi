"""Types of the decoder of stored values; values.pyx has the documentation."""

from pulseboard.kernel.reader import Buffer

def histograms(fd: int, offsets: Buffer, lengths: Buffer, fields: Buffer) -> tuple[Buffer, bytearray]: ...
