"""serve: the dashboard's server, compared with TensorBoard's: first chart, requests, live runs, load."""
