"""What probes of whole sentences read, layer by layer, and what fine-tuning changed of it."""
