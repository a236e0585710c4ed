"""text: logs of numbers in lines of text, apart from CSV and JSON."""
