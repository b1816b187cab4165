"""What takes space on this machine, and its deletion."""
