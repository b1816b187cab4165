"""Where in the layers each task of edge probing is solved."""
