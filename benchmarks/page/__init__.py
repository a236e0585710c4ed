"""page: the dashboard's page in a real Chromium, compared with TensorBoard's."""
