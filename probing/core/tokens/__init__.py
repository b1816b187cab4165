"""Tokens as a vocabulary spells them and as a reader writes them."""
