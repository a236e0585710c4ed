"""http: requests and responses, endpoint declarations and their schemas, the app, and the sockets it listens on."""
