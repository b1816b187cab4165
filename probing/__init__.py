"""BERTnesia Explorer: what every layer of a language model knows, and what fine-tuning made it forget."""

__version__ = "0.6.0"
