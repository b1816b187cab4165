"""Two models probed on the same facts: what one kept, gained and lost of what the other knew."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd

from probing.api.arguments import in_a_notebook
from probing.core.knowledge.transitions import FATES, PARTS
from probing.reports.knowledge.pairs.fact_lists import listed_facts
from probing.reports.knowledge.pairs.paired_layers import paired_by_layer
from probing.reports.knowledge.transitions import BESIDE, transitions_beside_wrong
from probing.store.database import Database
from probing.store.opening import open_database

#: Columns of a layer: of ``paired_by_layer``, with the names of the parts.
_PART_OF = {"both": "kept", "base_only": "lost", "model_only": "gained", "neither": "never"}
#: Columns that are the same in all rows.
_CONSTANT = ["base_run_id", "run_id", "base", "model", "head", "seed", "k"]


class Comparison:
    """Facts by outcome from a base to a model; made by ``Probed.compare``.

    Attributes:
        model, base: names of the two models.
        head: kind of the decoding heads of both.
        k: the rank up to which a fact counts as known.
    """

    def __init__(self, model: str, base: str, head: str, k: int, pairs: Sequence[tuple[Path, Path, str, str]]):
        self.model, self.base, self.head, self.k = model, base, head, k
        self._pairs = tuple(pairs)

    @property
    def counts(self) -> pd.DataFrame:
        """Numbers of facts by outcome at the last layer, as on the page Compare models.

        Returns:
            One row per probe set: ``probe_set, n`` (facts that both were asked), ``kept, gained, lost, never``;
                ``base_value`` and
            ``value`` (shares that the base and the model know), ``difference`` (the model's minus the base's) with its
            95 % interval ``low, high`` (Newcombe; ``low_answers, high_answers`` if answers are drawn again, too) and
            ``p_value`` (McNemar's exact test); ``still_inside, moved, suppressed, displaced, not_read``, the fates of
            the lost facts; ``still_inside_share, moved_share`` of the lost facts, beside ``still_inside_wrong,
            moved_wrong`` of equally confident wrong answers, with intervals of the differences (k = 1 only);
            ``only_base, only_model`` (facts that only one was asked).
        """
        columns = [
            "probe_set",
            "n",
            *PARTS,
            "base_value",
            "value",
            "difference",
            "low",
            "high",
            "low_answers",
            "high_answers",
            "p_value",
        ]
        columns += [*FATES, *BESIDE, "only_base", "only_model"]
        return self._counted[columns]

    @property
    def by_layer(self) -> pd.DataFrame:
        """The same at every layer that both models have.

        Returns:
            One row per probe set and layer: ``probe_set, layer, n, kept, gained, lost, never``; ``base_value`` and
                ``value`` with their
            95 % intervals (Wilson), ``difference`` with its own (Newcombe, and over answers) and ``p_value``. Layer 0
            is the embeddings.
        """
        tables = [
            paired_by_layer(self._database, pair.base_run_id, pair.run_id, self.k).assign(probe_set=pair.probe_set)
            for pair in self._counted.itertuples()
        ]
        counts = pd.concat(tables, ignore_index=True).rename(columns=_PART_OF)
        first = ["probe_set", "layer", "n", *PARTS]
        return counts[[*first, *(name for name in counts if name not in first)]]

    @property
    def lost(self) -> pd.DataFrame:
        """The facts that only the base knows at its last layer.

        Returns:
            One row per fact: ``probe_set, relation, subject, object``; ``base_rank, rank`` of the right answer;
                ``base_answer, answer``,
            each model's best token; ``fate`` (where a lost fact is now); ``prompt``; ``base_probability, probability``
            of the right answer; ``base_answer_probability, answer_probability``; ``fact_id``. The tables of all parts
            have these columns.
        """
        return self._part("lost")

    @property
    def kept(self) -> pd.DataFrame:
        """The facts that both know; columns as ``lost``."""
        return self._part("kept")

    @property
    def gained(self) -> pd.DataFrame:
        """The facts that only the model knows; columns as ``lost``."""
        return self._part("gained")

    @property
    def never(self) -> pd.DataFrame:
        """The facts that neither knows; columns as ``lost``."""
        return self._part("never")

    def __repr__(self) -> str:
        parts = ", ".join(f"{int(self.counts[name].sum()):,} {name}" for name in PARTS)
        return f"Comparison({self.model!r} with {self.base!r}, head={self.head!r}, k={self.k}: {parts})"

    def _part(self, part: str) -> pd.DataFrame:
        facts = self._facts
        return facts[facts["part"] == part].drop(columns=["part", *_CONSTANT]).reset_index(drop=True)

    @cached_property
    def _counted(self) -> pd.DataFrame:
        return transitions_beside_wrong(self._database, self._runs, (self.k,))

    @cached_property
    def _facts(self) -> pd.DataFrame:
        return listed_facts(self._database, self._runs, (self.k,))

    @property
    def _runs(self) -> list[tuple[str, str]]:
        return [(base_run, run) for _, _, base_run, run in self._pairs]

    @cached_property
    def _database(self) -> Database:
        """The results of the folders, of which only these runs are asked for."""
        with in_a_notebook():
            return open_database(
                *dict.fromkeys(folder for theirs, ours, _, _ in self._pairs for folder in (ours, theirs))
            )
