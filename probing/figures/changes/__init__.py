"""Figures of what fine-tuning changed."""
