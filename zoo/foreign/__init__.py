"""What the bases of other frameworks share: their registry and command line, labels, toy data and models, the build."""
