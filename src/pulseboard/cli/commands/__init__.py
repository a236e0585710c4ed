"""commands: one file a command. Its docstring is its help; `configure` and `run` are its code."""
