"""The training loss: divergence, spikes, shifts and noise."""
