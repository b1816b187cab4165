"""The paper on edge probing beside ours: F1 of every layer, Figures 1 and 2, and its claims."""
