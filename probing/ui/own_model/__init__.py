"""The page *Your model*."""
