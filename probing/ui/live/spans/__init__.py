"""The view of one or two spans of words, labelled by the edge probes of all layers."""
