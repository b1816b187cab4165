"""Queries on stored runs that asked for lost facts."""
