"""Speed, memory and hardware."""
