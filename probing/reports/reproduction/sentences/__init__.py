"""The paper on fine-tuning and sentence-level probing beside ours: numbers, tables, claims and the rules that judge them."""
