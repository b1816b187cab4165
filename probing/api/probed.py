"""Probed facts: the stored predictions of every layer as a table, as curves, and compared between two models."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from probing.api.answers import Shown
from probing.api.arguments import checked, in_a_notebook, text
from probing.facts.figures import layer_curve
from probing.facts.forgotten import FATES, PARTS
from probing.facts.probe import ProbedSet, probe_sets
from probing.facts.report import FACTS
from probing.facts.report_candidates import CANDIDATES, fact_by_fact, newest
from probing.facts.report_layers import precision, total
from probing.facts.report_pairs import BESIDE, listed_facts, paired_by_layer, transitions_beside_wrong
from probing.facts.requests import ProbeRequest
from probing.facts.sources import own_facts, own_probe_set, read_facts
from probing.facts.store import answers_of_runs
from probing.facts.store_candidates import candidate_runs
from probing.kernel.errors import OptionError
from probing.kernel.fact import PROBE_SETS, FactSet, shipped_relations
from probing.kernel.figures import theme
from probing.kernel.figures.looks import usual_colours
from probing.kernel.metric import RANKS
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.registry import ModelEntry
from probing.kernel.report import refuse_unknown_words, shown_baselines
from probing.kernel.stats.intervals import AVERAGES
from probing.kernel.store.database import Database
from probing.kernel.store.opening import open_database
from probing.terms import METRICS

if TYPE_CHECKING:
    from probing.api.model import Model
    from probing.kernel.figures.theme import go
    from probing.kernel.models.load import Encoder

_log = logging.getLogger(__name__)
#: The probe set of facts that are given as a table.
OWN_FACTS = "own-facts"
#: Columns of a layer: of ``paired_by_layer``, with the names of the parts.
_PART_OF = {"both": "kept", "base_only": "lost", "model_only": "gained", "neither": "never"}
#: Columns that are the same in all rows.
_CONSTANT = ["base_run_id", "run_id", "base", "model", "head", "seed", "k"]


class Probed(Shown):
    """The stored predictions of every layer of a model for facts; made by ``Model.probe``.

    >>> import probing
    >>> capitals = {"France": "Paris", "Germany": "Berlin", "Italy": "Rome"}
    >>> facts = [
    ...     {"subject": land, "relation": "capital", "object": city, "prompt": f"The capital of {land} is [MASK]."}
    ...     for land, city in capitals.items()
    ... ]
    >>> found = probing.load("nesia-mini").probe(facts, called="three-capitals", progress=False)
    >>> found
    Probed('nesia-mini', head='tied', three-capitals: 3 facts)
    >>> found.curve()["n"].unique().tolist()
    [3]
    """

    def __init__(
        self,
        model: str,
        head: str,
        folder: Path,
        sets: Sequence[ProbedSet],
        again: "Callable[[], Probed] | None" = None,
    ):
        self.model, self.head, self.folder = model, head, folder
        self._sets, self._again = tuple(sets), again

    @property
    def run_ids(self) -> list[str]:
        """The ids of the stored runs, one per probe set with a fact that could be asked."""
        return [one.run_id for one in self._sets if one.run_id]

    @cached_property
    def table(self) -> pd.DataFrame:
        """The predictions of every layer.

        Returns:
            One row per fact and layer: ``fact_id, probe_set, relation, subject, object, prompt, layer, rank`` (of the
            right answer in the whole vocabulary, from 1), ``answer_rank`` (among the answers of its relation),
            ``swapped_rank`` (with the swapped subject; empty if there is none), ``probability`` (of the right answer,
            in [0, 1]), ``top_token`` and ``top_probability``. Layer 0 is the embeddings.
        """
        return answers_of_runs(self._database, self.run_ids)

    @cached_property
    def _by_logit_lens(self) -> "Probed":
        """The same facts asked by the logit lens."""
        assert self._again
        words = "%s was probed with %s heads; it is asked again by the logit lens, as the other model was"
        _log.warning(words, self.model, self.head)
        return self._again()

    @property
    def left_out(self) -> pd.DataFrame:
        """Number of facts that were not asked: ``probe_set, reason, n``; no rows if all were asked. ``left_out_facts``
        lists them.
        """
        rows = [
            (one.facts.probe_set, reason, n) for one in self._sets for reason, n in sorted(one.facts.left_out.items())
        ]
        return pd.DataFrame(rows, columns=["probe_set", "reason", "n"])

    @property
    def left_out_facts(self) -> pd.DataFrame:
        """The facts that were not asked.

        Returns:
            One row per fact: ``probe_set, reason, relation, subject, object, prompt``. Facts that LAMA's own reader
            leaves out, such as those judged wrong, are counted in ``left_out`` only.
        """
        columns = ("relation", "subject", "object", "prompt")
        dropped = [(one.facts.probe_set, reason, fact) for one in self._sets for fact, reason in one.facts.dropped]
        rows = [(probe_set, reason, *(getattr(fact, name) for name in columns)) for probe_set, reason, fact in dropped]
        return pd.DataFrame(rows, columns=["probe_set", "reason", *columns])

    @checked
    def curve(self, k: int = 1, average: str = "macro") -> pd.DataFrame:
        """P@k by layer: the share of facts whose right answer is among the layer's first k. The column ``value`` has
        it.

        Args:
            k: 1, 10 or 100.
            average: ``macro``, the mean over relations, or ``micro``, over facts.

        Returns:
            The columns of ``python -m probing report precision --json``: one row per probe set and layer with ``n``
            (facts), ``value`` and its 95 % interval ``low, high``, and ``low_answers, high_answers`` if answers are
            drawn again, too; ``majority`` (always the relation's most frequent answer; at k = 1 only) and ``swapped``
            (with a swapped subject, over ``swapped_n`` facts). Shares in [0, 1].

        Raises:
            OptionError: for another k or average.
        """
        return FACTS.named("precision").json_table(self._precision(k, average))

    @checked
    def total(self, k: int = 1, average: str = "macro") -> pd.DataFrame:
        """Last-layer knowledge and total knowledge: the facts that the last layer knows, and those that any layer
        knows.

        Args:
            k, average: as for ``curve``.

        Returns:
            The columns of ``python -m probing report total --json``, one row per probe set.

        Raises:
            OptionError: for another k or average.
        """
        _refuse_others(k, average)
        return FACTS.named("total").json_table(total(self._database, self.run_ids, (k,), (average,)))

    @checked
    def compare(self, base: "Probed", k: int = 1) -> "Comparison":
        """What this model kept, gained and lost of what another one knew, fact by fact, as on the page Compare models.

        Args:
            base: the same facts, probed in the model that this one was fine-tuned from, or in any other. If one of
                the two was read by the logit lens and the other with trained heads, a warning says so, and the other is
                asked again by the logit lens, which reads every model; of one in memory that is an error.
            k: the rank up to which a fact counts as known: 1, 10 or 100.

        Returns:
            The counts with their intervals, by layer too, and the facts themselves: ``counts``, ``by_layer``, ``lost``,
            ``kept``, ``gained`` and ``never``.

        Raises:
            OptionError: if ``base`` is not a ``Probed``, the two have different kinds of trained heads or no probe set
                in common, or for another k.

        >>> import probing
        >>> capitals = {"France": "Paris", "Germany": "Berlin", "Italy": "Rome"}
        >>> facts = [
        ...     {"subject": land, "relation": "capital", "object": city, "prompt": f"The capital of {land} is [MASK]."}
        ...     for land, city in capitals.items()
        ... ]
        >>> names = ("nesia-mini", "nesia-mini-ner-conll")
        >>> models = [probing.load(name, head='logit_lens') for name in names]
        >>> base, tuned = (model.probe(facts, called="three-capitals", progress=False) for model in models)
        >>> bool((tuned.compare(base).lost["base_rank"] == 1).all())
        True
        """
        if not isinstance(base, Probed):
            raise OptionError(
                f"got {type(base).__name__} to compare with; expected what probe returns of another model"
            )
        trained = self if base.head == LOGIT_LENS else base
        if base.head != self.head and LOGIT_LENS in (base.head, self.head) and trained._again:
            both = (trained._by_logit_lens, base) if trained is self else (self, trained._by_logit_lens)
            return both[0].compare(both[1], k)
        if base.head != self.head:
            raise OptionError(
                f"{self.model} was probed with {self.head} heads, {base.model} with {base.head}; probe both with the"
                " same kind (head=)"
            )
        theirs = {one.key: one.run_id for one in base._sets if one.run_id}
        pairs = [(theirs[one.key], one.run_id) for one in self._sets if one.run_id and one.key in theirs]
        if not pairs:
            raise OptionError(f"{self!r} and {base!r} have no probe set in common; probe the same facts in both models")
        _refuse_others(k, "micro")
        return Comparison(self, base, k, pairs)

    @checked
    def figure(self, k: int = 1, average: str = "macro", dark: bool = False, width: str = "") -> "go.Figure":
        """The layer curve of the page: P@k by layer with its 95 % interval, the majority answer and the swapped
        subject.

        Args:
            k, average: as for ``curve``.
            dark: whether the page is dark.
            width: ``column`` (3.25 in) or ``text`` (6.75 in) draws it as the page's *Save* does: light, with 8 pt.

        Returns:
            A ``plotly.graph_objects.Figure``.
        """
        table = shown_baselines(self._precision(k, average))
        sets = {name: PROBE_SETS.get(name, name) for name in table["probe_set"].unique()}
        title = f"{METRICS[f'p_at_{k}'].label}, {average}"
        colours = usual_colours([self.model])
        drawn = layer_curve(table, title=title, unit="share", colours=colours, names=sets)
        return theme.for_notebook(drawn, dark, width)

    def __repr__(self) -> str:
        asked = ", ".join(f"{one.facts.probe_set}: {len(one.facts.facts):,} facts" for one in self._sets)
        left = sum(sum(one.facts.left_out.values()) for one in self._sets)
        return f"Probed({self.model!r}, head={self.head!r}, {asked}{f', {left:,} left out' if left else ''})"

    def _drawn(self) -> "tuple[go.Figure, pd.DataFrame]":
        return self.figure(), self.curve()

    def _precision(self, k: int, average: str) -> pd.DataFrame:
        _refuse_others(k, average)
        return precision(self._database, self.run_ids, (k,), average)

    @cached_property
    def _database(self) -> Database:
        """The results of the folder, of which only these runs are asked for."""
        with in_a_notebook():
            return open_database(self.folder)


class Comparison:
    """Facts by outcome from a base to a model; made by ``Probed.compare``.

    Attributes:
        model, base: names of the two models.
        head: kind of the decoding heads of both.
        k: the rank up to which a fact counts as known.
    """

    def __init__(self, tuned: Probed, base: Probed, k: int, runs: Sequence[tuple[str, str]]):
        self.model, self.base, self.head, self.k = tuned.model, base.model, tuned.head, k
        self._folders, self._runs = dict.fromkeys((tuned.folder, base.folder)), tuple(runs)

    @property
    def counts(self) -> pd.DataFrame:
        """Numbers of facts by outcome at the last layer, as on the page Compare models.

        Returns:
            One row per probe set: ``probe_set, n`` (facts that both were asked), ``kept, gained, lost, never``;
            ``base_value`` and ``value`` (shares that the base and the model know), ``difference`` (the model's minus
            the base's) with its 95 % interval ``low, high`` (Newcombe; ``low_answers, high_answers`` if answers are
            drawn again, too) and ``p_value`` (McNemar's exact test); ``still_inside, moved, suppressed, displaced,
            not_read``, the fates of the lost facts; ``still_inside_share, moved_share`` of the lost facts, beside
            ``still_inside_wrong, moved_wrong`` of equally confident wrong answers, with intervals of the differences
            (k = 1 only); ``only_base, only_model`` (facts that only one was asked).
        """
        values = ["base_value", "value", "difference", "low", "high", "low_answers", "high_answers", "p_value"]
        return self._counted[["probe_set", "n", *PARTS, *values, *FATES, *BESIDE, "only_base", "only_model"]]

    @property
    def by_layer(self) -> pd.DataFrame:
        """The same at every layer that both models have.

        Returns:
            One row per probe set and layer: ``probe_set, layer, n, kept, gained, lost, never``; ``base_value`` and
            ``value`` with their 95 % intervals (Wilson), ``difference`` with its own (Newcombe, and over answers) and
            ``p_value``. Layer 0 is the embeddings.
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
            ``base_answer, answer``, each model's best token; ``fate`` (where a lost fact is now); ``prompt``;
            ``base_probability, probability`` of the right answer; ``base_answer_probability, answer_probability``;
            ``fact_id``. The tables of all parts have these columns.
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

    @cached_property
    def _database(self) -> Database:
        """The results of the folders, of which only these runs are asked for."""
        with in_a_notebook():
            return open_database(*self._folders)


def probe_facts(
    model: "Model",
    facts: Any,
    *,
    called: str | None = None,
    templates: str | None = None,
    out: Path | None = None,
    progress: bool = True,
) -> Probed:
    """The predictions of ``Model.probe``, which documents arguments and errors."""
    request, sets, done = _asked(model, facts, called, templates, out=out, progress=progress)
    # Opened again by its files, so that what was probed does not keep the model in memory.
    opens = model.encoder.opens
    again = opens and partial(_asked_again, opens, model.name, model.entry, request, sets)
    return Probed(model.name, model.head, request.target, done, again)


def _asked_again(
    opens: "Callable[[], Encoder]", name: str, entry: ModelEntry, request: ProbeRequest, sets: list[FactSet]
) -> Probed:
    """The same facts, asked by the logit lens."""
    with in_a_notebook():
        encoder, request = replace(opens(), name=name), replace(request, head=LOGIT_LENS)
        return Probed(name, LOGIT_LENS, request.target, probe_sets(request, sets, encoder, entry, _log.info))


def rank_facts(model: "Model", facts: Any, called: str | None, templates: str | None, **options: Any) -> pd.DataFrame:
    """The ranks of ``Model.rank_facts``, which documents arguments and errors; ``options`` are of ``ProbeRequest``."""
    request, _, done = _asked(model, facts, called, templates, **options)
    for one in (probed.facts for probed in done if probed.facts.left_out):
        said = f"{len(one.facts):,} facts are ranked; left out: {one.left_out_in_words}"
        _log.warning("%s: %s", one.probe_set, said)
    with open_database(request.target) as db:
        runs = candidate_runs(db)
        runs = newest(runs[runs["run_id"].isin([one.run_id for one in done])])
        return CANDIDATES.named("facts").json_table(fact_by_fact(db, runs))


def _asked(
    model: "Model", facts: Any, called: str | None, templates: str | None, **options: Any
) -> tuple[ProbeRequest, list[FactSet], list[ProbedSet]]:
    """The request, of which ``options`` are further ones, the facts, and the facts as they were asked."""
    if isinstance(facts, str | Path):
        text("facts", str(facts))
        named, sets = str(facts), read_facts(facts, shipped_relations(), templates, own_name=called)
    else:
        # A name from the user is checked like the name of a file.
        sets = [own_facts(facts, "the given table", own_probe_set(Path(OWN_FACTS), called))]
        named = sets[0].probe_set
    for one in sets:
        if one.said:
            _log.warning("%s: %s", one.probe_set, one.said)
    request = ProbeRequest(model.source or "", named, model.head, templates=templates, base=model.base, **options)
    return request, sets, probe_sets(request, sets, model.encoder, model.entry, _log.info)


def _refuse_others(k: int, average: str) -> None:
    """Raises an ``OptionError`` if there are no counts for a k or an average."""
    refuse_unknown_words("k", (k,), RANKS)
    refuse_unknown_words("average", (average,), AVERAGES)
