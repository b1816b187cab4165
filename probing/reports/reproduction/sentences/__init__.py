"""The paper on fine-tuning and sentence-level probing compared with our results: numbers, tables, claims and the rules
that judge them.
"""
