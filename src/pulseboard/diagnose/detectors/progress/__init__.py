"""How far the training loss has come: a wrong start, no progress, and values that are too good to be true."""
