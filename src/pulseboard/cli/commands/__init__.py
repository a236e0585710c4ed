"""commands: one file per command. Its docstring is the help text, `configure` adds arguments, `run` does the work."""
