"""How models are called on pages and in figures."""
