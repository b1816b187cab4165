"""What probes read from whole sentences, layer by layer, and what fine-tuning changed of it."""
