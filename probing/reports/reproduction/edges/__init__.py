"""The paper on edge probing beside ours: numbers, tables, claims and the rules that judge them."""
