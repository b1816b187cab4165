"""Which facts of a run are chosen: one filter for searching, counting, paging and picking."""

from dataclasses import dataclass
from typing import Any

from probing.facts.store_pairs_transition_sql import PART_CONDITIONS

#: A longer text is cut: each word is one more condition.
MAX_WORDS = 16

_EQUAL = {
    "relation": "f.relation",
    "probe_set": "f.probe_set",
    "first_known": "k.first_layer",
    "last_known": "k.last_layer",
    "answer_in_subject": "k.answer_in_subject",
}


@dataclass(frozen=True)
class FactFilter:
    """Conditions that all must hold; None, or an empty text, does not filter. *Known* is rank 1, at layers 1..L."""

    #: Words that must all occur in subject, object, prompt or relation, ignoring case and accents.
    text: str = ""
    relation: str | None = None
    probe_set: str | None = None
    known_at: int | None = None
    first_known: int | None = None
    last_known: int | None = None
    never_known: bool | None = None
    #: Exposures to the training text that are kept; empty keeps nothing.
    exposures: tuple[str, ...] | None = None
    answer_in_subject: bool | None = None
    #: (layer, k): rank <= k at that layer.
    layer_rank: tuple[int, int] | None = None
    #: The base's run that ``part``, of ``PARTS`` or ``FATES``, compares with.
    versus: str | None = None
    part: str | None = None
    part_k: int = 1
    #: (id of the run that asked for the lost facts, outcomes of ``forgetting.ways`` that are kept).
    back: tuple[str, tuple[str, ...]] | None = None

    def __post_init__(self) -> None:
        if self.part is not None and self.part not in PART_CONDITIONS:
            raise ValueError(f"unknown part {self.part!r}; expected one of {list(PART_CONDITIONS)}")
        if self.part is not None and self.versus is None:
            raise ValueError(f"the part {self.part!r} needs versus, the run that it is compared with")

    def condition(self) -> tuple[str, dict[str, Any]]:
        """SQL over ``known k``, ``facts f`` and ``relations l``, and its parameters; the SQL holds no given value."""
        parts: list[str] = []
        values: dict[str, Any] = {}
        haystack = "strip_accents(lower(concat_ws(' ', f.subject, f.object, f.prompt, f.relation, l.label)))"
        for number, word in enumerate(self.text.split()[:MAX_WORDS]):
            parts.append(f"contains({haystack}, strip_accents(lower($word_{number})))")
            values[f"word_{number}"] = word
        for name, column in _EQUAL.items():
            if (value := getattr(self, name)) is not None:
                parts.append(f"{column} = ${name}")
                # A frame's numbers are numpy's, which DuckDB does not bind.
                values[name] = value if isinstance(value, str | bool) else int(value)
        if self.never_known is not None:
            parts.append("(k.layers_known = 0) = $never_known")
            values["never_known"] = self.never_known
        if self.exposures is not None:
            parts.append("k.exposure IN (SELECT unnest($exposures::VARCHAR[]))")
            values["exposures"] = list(self.exposures)
        at = {"known_at": None if self.known_at is None else (self.known_at, 1), "layer_rank": self.layer_rank}
        for name, pair in at.items():
            if pair is not None:
                parts.append(
                    f"k.fact_id IN (SELECT p.fact_id FROM predictions p WHERE p.run_id = $run_id "
                    f"AND p.layer = ${name}_layer AND p.gold_rank <= ${name}_k)"
                )
                values |= {f"{name}_layer": int(pair[0]), f"{name}_k": int(pair[1])}
        if self.part is not None:
            parts.append(
                "k.fact_id IN (SELECT m.fact_id FROM known m JOIN known b ON b.fact_id = m.fact_id "
                "JOIN fact_runs r ON r.run_id = b.run_id "
                f"WHERE m.run_id = $run_id AND b.run_id = $versus AND {PART_CONDITIONS[self.part]})"
            )
            values |= {"versus": self.versus, "part_k": int(self.part_k)}
        if self.back is not None:
            parts.append(
                "k.fact_id IN (SELECT w.fact_id FROM forgetting_facts w WHERE w.run_id = $back_run "
                "AND w.way IN (SELECT unnest($back_ways::VARCHAR[])))"
            )
            values |= {"back_run": self.back[0], "back_ways": list(self.back[1])}
        return " AND ".join(parts) or "true", values
