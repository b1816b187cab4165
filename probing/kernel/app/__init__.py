"""What the pages are made of."""

import os

# Torch's threads wait for each other by spinning, unless this is set before it is loaded. Where other programs use the
# cores, too, that makes a question twenty times as slow.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
