"""codecs: one file per kind of value. Each decodes stored values and encodes logged ones."""
