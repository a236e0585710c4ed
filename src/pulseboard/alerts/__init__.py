"""alerts: diagnoses in, messages to people out.

rules.py parses alerts.toml, watcher.py decides what is worth a message, delivery.py sends it until it arrives, and
memory.py keeps what was sent, so that nothing is sent twice. Runs need not know of it: any log directory works.
"""
