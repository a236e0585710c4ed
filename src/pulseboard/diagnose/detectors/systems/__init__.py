"""Speed, memory and data loading."""
