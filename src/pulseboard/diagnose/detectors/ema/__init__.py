"""Target networks, which follow the trained network as a moving average."""
