"""What probes of whole sentences read, layer by layer, and how fine-tuning changed it."""
