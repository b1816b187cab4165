"""Views of whole sentences and of minimal pairs, layer by layer."""
