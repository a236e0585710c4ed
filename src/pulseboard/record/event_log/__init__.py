"""event_log: writing event files, and the placeholders used while there is none."""
