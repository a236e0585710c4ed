"""Kinds of small trainings, one file each, with a constant KIND."""
