"""Figures of forgotten facts."""
