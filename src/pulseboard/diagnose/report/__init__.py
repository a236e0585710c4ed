"""Reports in words: the same findings for a terminal, as plain text, Markdown and one HTML file."""
