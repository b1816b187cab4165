"""The SQL of ``facts.forgotten_transitions``: parts and fates, the same for counting and for listing facts."""

from probing.facts.forgotten_transitions import NEAR

#: Bits of the layers that are neither the embeddings nor the last; of a lost fact the last layer's is not set.
_INNER = "(m.known_layers & ~1::UBIGINT)"
#: Those at which the base has the fact first, too; its own last layer does not count.
_THERE = f"({_INNER} & b.known_layers & ~(1::UBIGINT << (r.layers - 1)::UBIGINT))"
_LOST = "b.last_rank <= $part_k AND m.last_rank > $part_k"
_ELSEWHERE = f"{_LOST} AND {_INNER} = 0"

#: Part or fate -> condition on ``known`` of the base's run (b) and of the fine-tuned model's (m) for the same fact, and
#: on ``fact_runs`` of the base's run (r).
PART_CONDITIONS = {
    "kept": "b.last_rank <= $part_k AND m.last_rank <= $part_k",
    "gained": "b.last_rank > $part_k AND m.last_rank <= $part_k",
    "lost": _LOST,
    "never": "b.last_rank > $part_k AND m.last_rank > $part_k",
    "still_inside": f"{_LOST} AND {_THERE} <> 0",
    "moved": f"{_LOST} AND {_INNER} <> 0 AND {_THERE} = 0",
    "suppressed": f"{_ELSEWHERE} AND m.last_rank <= {NEAR}",
    "displaced": f"{_ELSEWHERE} AND m.last_rank > {NEAR} AND m.best_rank <= {NEAR}",
    "not_read": f"{_ELSEWHERE} AND m.last_rank > {NEAR} AND m.best_rank > {NEAR}",
}
