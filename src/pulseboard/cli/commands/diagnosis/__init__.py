"""Commands that judge runs: diagnoses, guides, gates, and waiting for or announcing what happens."""
