"""Helpers of ``Results``: arguments, chosen runs, lists of facts, and figures."""
