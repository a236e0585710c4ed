"""alerts: diagnoses in, messages to people out.

rules.py parses alerts.toml, watcher.py decides what is worth a message, delivery.py sends it until it arrives, and
memory.py records what was sent, so nothing is sent twice. Any log directory works, without a change to the trainings.
"""
