"""zoo: small real trainings, healthy and broken on purpose, and a score of how well diagnosis distinguishes them."""
