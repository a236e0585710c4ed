"""Bases of other frameworks, one per file, each logged by its own framework; `zoo/foreign/base.py` describes them."""
