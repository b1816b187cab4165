"""Grammar in the layers: tasks on words and spans, and one sentence through all layers."""
