"""The paper on edge probing compared with our results: F1 of every layer, Figures 1 and 2, and its claims."""
