"""Scoring: what a diagnosis says, compared with what is known about a run."""
