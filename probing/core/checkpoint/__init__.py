"""What lies in a model's folder, whether it can be used, and whether a base belongs to it; no weight is read."""
