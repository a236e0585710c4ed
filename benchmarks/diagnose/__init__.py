"""diagnose: a large run diagnosed after the fact, and a long one live."""
