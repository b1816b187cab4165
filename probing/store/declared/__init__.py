"""The kinds of runs, one file each: what building, checking and sharing know of them."""
