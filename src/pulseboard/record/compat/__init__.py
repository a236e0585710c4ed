"""compat: the recording APIs of other tools: torch's SummaryWriter and FileWriter, and TrainingRunLogger."""
