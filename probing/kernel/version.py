"""The version, part of the fingerprint of every run."""

__version__ = "1.1.0"
