"""The training loss: divergence, spikes, plateaus and implausible values."""
