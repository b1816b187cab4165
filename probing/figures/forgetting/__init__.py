"""Figures of lost facts."""
