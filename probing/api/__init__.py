"""What a notebook uses: a model to ask and the stored results, as objects that give DataFrames and figures."""
