"""What the stored results of a notebook are made with: arguments, chosen runs, lists of facts, and the figures."""
