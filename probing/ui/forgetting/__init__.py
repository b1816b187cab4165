"""The page *Forgetting*."""
