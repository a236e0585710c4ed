"""rl: the files of reinforcement learning libraries."""
