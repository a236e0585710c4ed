"""parsed_files: files of formats other than event files, recognized, read and kept up to date."""
