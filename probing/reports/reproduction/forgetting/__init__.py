"""Claims of other papers on lost facts, judged on stored runs."""
