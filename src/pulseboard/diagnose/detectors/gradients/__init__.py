"""Gradients: size, spikes, zeros and clipping."""
