"""The kinds of decoding heads, in the order in which pages offer them.

``tied`` trains its own transform, the vocabulary matrix is shared and frozen; ``lens`` is the pre-trained head on every layer and is
not trained; in ``full`` everything trains, as in the paper. ``least_squares`` is the pre-trained head behind the affine map from the
layer to the last one that has the least squared error; ``tuned_lens`` trains such a map to the last layer's distribution (Belrose et
al. 2023). The map is folded into the head's first layer, so both own the same parameters as ``tied``.
"""

HEADS = ("tied", "lens", "full", "least_squares", "tuned_lens")
#: Those that lie in files.
STORED = tuple(kind for kind in HEADS if kind != "lens")
#: Those that begin with an affine map to the last layer.
MAPPED = ("least_squares", "tuned_lens")


def listed(kinds: tuple[str, ...] = HEADS) -> str:
    """The kinds as a sentence names them."""
    return f"{', '.join(kinds[:-1])} or {kinds[-1]}"
