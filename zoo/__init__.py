"""zoo: real small trainings, healthy and broken on purpose, and how well diagnosis tells them apart."""
