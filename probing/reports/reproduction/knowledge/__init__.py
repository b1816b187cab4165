"""BERTnesia compared with our results: numbers, tables, claims and the rules that judge them."""
