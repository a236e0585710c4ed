"""What the parent passes to the training, as environment variables and files of the run directory."""

RUN_DIRECTORY = "PULSEBOARD_LAUNCHED_RUN"
TELEMETRY_SECS = "PULSEBOARD_LAUNCHED_TELEMETRY_SECS"
SEEN = "PULSEBOARD_LAUNCHED_SEEN"
CLAIM_FILE = ".watched-by"
"""In the run directory: the process that watches its model. There is at most one."""
