"""What lists and tables show of runs: tags, states, settings, forks, and summaries of metrics."""
