"""Single targets of edge probing through all layers."""
