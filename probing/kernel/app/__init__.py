"""What the pages are made of."""

import os

import pandas as pd

# Torch's threads wait for each other by spinning, unless this is set before it is loaded. Where other programs use the
# cores, too, that makes a question twenty times as slow.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Pages pick rows of small tables, for which Arrow's texts take twice as long.
pd.set_option("mode.string_storage", "python")
