"""Queries on what is stored of forgotten facts."""
