"""The API for notebooks: models and stored results as objects that return DataFrames and figures."""
