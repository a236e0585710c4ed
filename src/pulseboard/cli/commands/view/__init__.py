"""Commands that show what was logged: the dashboard, lists, tables and charts in the terminal."""
