"""Whether a base belongs to a model: its head may read the model only if both give every id to the same token."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

#: At this relative change a layer is as far from its base as from zero: no fine-tuning goes so far.
_STRANGE_DRIFT = 1.0
#: Tokens that a vocabulary keeps free to be replaced by a user's own.
_FREE = re.compile(r"[\[<]unused_?\d+[\]>]|madeupword\d+")


class Shape(NamedTuple):
    """What a model has in common with its base; ``tokens`` are by id, if known."""

    kind: str
    depth: int
    hidden: int
    rows: int
    tokens: tuple[str, ...] | None


def unlike(model: Shape, base: Shape, name: str) -> str:
    """Why ``base``, called ``name``, cannot be the base of ``model``, in words that follow its name; empty if it can.

    Tokens added at the end of either are no reason, nor is another token in a place that the vocabulary keeps free, nor
    rows of a matrix without a token.
    """
    compared = [
        "architecture",
        "number of layers",
        "width",
        *(["size of the vocabulary"] if None in (model.tokens, base.tokens) else []),
    ]
    differences = [
        f"{what} {own} against {lent}" for what, own, lent in zip(compared, model, base, strict=False) if own != lent
    ]
    pairs = [*enumerate(zip(model.tokens or (), base.tokens or (), strict=False))]
    other = [
        (n, own, lent)
        for n, (own, lent) in pairs
        if own != lent and not (_FREE.fullmatch(own) or _FREE.fullmatch(lent))
    ]
    if other:
        first = ", ".join(f"{n} is {own!r} against {lent!r}" for n, own, lent in other[:3])
        differences.append(f"{len(other):,} of {len(pairs):,} ids belong to other tokens: {first}")
    way = "name the model that it was fine-tuned from"
    if model.depth < base.depth and len(differences) == 1:
        way = (
            f"{way}, or, for a student of {name}, put that model's head into it (BertForMaskedLM or its like), save it,"
            " and name no base"
        )
    return f"does not fit the base {name}: {', '.join(differences)}; {way}" if differences else ""


def added_tokens(name: str, model: Shape, base_name: str, base: Shape) -> tuple[list[int], str]:
    """Ids of a model's tokens for which its base's head has no row, and one line if their tokens differ."""
    own, lent = model.tokens or (), base.tokens or ()
    if own == lent or not own or not lent:
        return [], ""
    without = [number for number, token in enumerate(own) if number >= len(lent) or token != lent[number]]
    some = next(iter([*(own[n] for n in without), *lent[len(own) :]]))
    sizes = f"{len(own):,} tokens, its base {base_name} {len(lent):,}"
    return without, f"note: {name} has {sizes}; tokens that only one of them has, such as {some}, cannot be answers"


def warn_of_drift(name: str, base: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """A warning that weights are too far from the base's; empty if not. ``rows`` have ``layer, drift``."""
    farthest = max(rows, key=lambda row: row["drift"], default={"drift": 0.0})
    if farthest["drift"] < _STRANGE_DRIFT:
        return ""
    away = (
        f"layer {farthest['layer']} of {name} is {farthest['drift']:.2f} times the length of {base}'s weights away from"
        " them"
    )
    return f"{away}, like an unrelated model's; is {base} really its base?"
