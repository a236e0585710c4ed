"""security: who may send requests, and limits and cleaning for what clients and logs contain."""
