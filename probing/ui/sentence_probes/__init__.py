"""What probes read from whole sentences, layer by layer, and how fine-tuning changed it."""
