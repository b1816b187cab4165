"""The kinds of decoding heads, in the order in which pages offer them.

``tied`` trains its own transform, the vocabulary matrix is shared and frozen; ``lens`` is the pre-trained head on every layer and is
not trained; in ``full`` everything trains, as in the paper.
"""

HEADS = ("tied", "lens", "full")
