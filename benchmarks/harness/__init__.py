"""harness: what the benchmarks share: log sets, fresh processes, samples, dashboards, and the report they write."""
