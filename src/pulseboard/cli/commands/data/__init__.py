"""Commands that move data: exports, conversions, archives, databases."""
