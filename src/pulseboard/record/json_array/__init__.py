"""json_array: a JSON array that is valid after every append, even after kill -9."""
