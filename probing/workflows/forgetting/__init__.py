"""Recovery of lost facts: model, base, facts and text from files, results to files."""
