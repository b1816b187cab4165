"""The commands for own models, and for what takes space on this machine."""
