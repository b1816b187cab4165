"""The panels on forgotten facts."""
