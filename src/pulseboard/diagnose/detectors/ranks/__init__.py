"""Distributed training: ranks that differ."""
