"""Figures for a paper: at the width of its columns, as images."""
