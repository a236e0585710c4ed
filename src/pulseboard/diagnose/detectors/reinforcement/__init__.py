"""Reinforcement learning: the return of the policy."""
