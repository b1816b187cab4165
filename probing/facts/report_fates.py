"""What became of one fact in every model that was fine-tuned from the same base."""

from collections.abc import Mapping, Sequence

import pandas as pd

from probing.facts.forgotten_transitions import fate_of, outcome_words, part_of

COLUMNS = ("model", "outcome", "rank", "best_rank", "best_layer", "known_at")


def fates(before: Sequence[int], after: Mapping[str, Sequence[int]], k: int = 1) -> pd.DataFrame:
    """The outcome of a fact by model, from the ranks of the right answer at layers 0 to L of the base and of each
    model.

    ``outcome`` is in words, of a lost fact its fate; ``best_rank`` is of the layers from 1 on, first reached at
    ``best_layer``; ``known_at`` has the layers with rank 1.
    """
    rows = []
    for model, ranks in after.items():
        part = part_of(before[-1], ranks[-1], k)
        outcome = f"lost: {outcome_words(fate_of(before, ranks))}" if part == "lost" else part
        best = min(ranks[1:])
        known = ", ".join(str(layer) for layer, rank in enumerate(ranks) if layer and rank == 1)
        rows.append((model, outcome, ranks[-1], best, 1 + list(ranks[1:]).index(best), known))
    return pd.DataFrame(rows, columns=list(COLUMNS))
