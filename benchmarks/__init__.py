"""benchmarks: Pulseboard measured against its peers. `python -m benchmarks` lists the commands."""
