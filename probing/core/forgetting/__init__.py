"""Is a lost fact forgotten or only out of reach: groups of facts, ways back, and the yardsticks of every way."""
