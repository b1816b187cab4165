"""The tables of each capability: type, bounds and meaning of every column. What holds across rows and tables is in
``store.rules``.
"""
