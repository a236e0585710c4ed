"""appending: adds what a log has gained since it was last read to its series, at a cost that depends only on that."""
