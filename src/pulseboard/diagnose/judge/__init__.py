"""judge: findings in, incidents with severity, cost and likely causes out. No detector decides these alone."""
