"""live: the runs a server shows, kept up to date, and the streams to its clients."""
