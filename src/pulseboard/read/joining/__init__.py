"""joining: one training that was logged several times becomes one run."""
