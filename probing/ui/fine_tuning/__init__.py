"""The page *What fine-tuning changed*."""
