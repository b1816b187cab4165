"""What holds across rows and tables of each capability, in SQL. Bounds of a single column are in ``store.tables``."""
