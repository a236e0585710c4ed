"""discovery: paths in, the runs found there out. Lists directories; opens files only to recognize their format."""
