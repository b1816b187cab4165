"""The paper on edge probing compared with our results: numbers, tables, claims and the rules that judge them."""
