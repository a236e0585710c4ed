"""Reports for people: the same incidents and findings as text, Markdown and HTML."""
