"""What fine-tuning changed in a model, over all capabilities."""
