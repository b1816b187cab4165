"""One sentence of the user, asked of the layers of models."""
