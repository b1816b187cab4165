"""The stored results in a notebook: the numbers of the reports as DataFrames, the figures of the pages as Plotly
figures.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import pandas as pd

from probing.api.stored.argument_checks import checked
from probing.api.stored.argument_values import Numbers, Words, chosen, only, several, single
from probing.api.stored.facts import FactChoice, FactFilters, by_layer, list_facts, listed_run, open_fact
from probing.api.stored.of_reports import method_of
from probing.api.stored.opening import OpenResults
from probing.api.stored.shown_runs import refuse_layers, run_names, without_pair
from probing.core.capabilities.registry import CAPABILITIES
from probing.core.errors import StoreError
from probing.core.sentences.example import OURS
from probing.reports.changes.declarations import CHANGES
from probing.reports.declarations import KINDS
from probing.reports.edges.declarations import EDGES
from probing.reports.knowledge.declarations import KNOWLEDGE
from probing.reports.report import Reports, refuse_unknown_words
from probing.reports.sentences.declarations import SENTENCES
from probing.store.run_queries import runs as all_runs

if TYPE_CHECKING:
    from probing.api.plots import Plots


def open_results(folders: "Sequence[Path | str] | Path | str | None" = None) -> "Results":
    """Opens stored results; see ``Results``."""
    return Results(folders)


class Results(OpenResults):
    """Stored results: every method returns a DataFrame, ``plot`` has the figure for the same arguments.

    A method's columns and values are those that the command of the same name prints with ``--json``, unrounded: shares
    are in [0, 1], ranks start at 1, layer 0 is the embeddings, and undefined values are NaN. An argument takes one
    value or a list; None keeps everything. Results are closed when the object is deleted, or at the end of a ``with``
    block.

    Args:
        folders: folders of results; None takes those of the pages, ``cache/runs`` and the shipped snapshot.

    Raises:
        StoreError: if a folder holds no results.
        OptionError: for an argument that names no folder.

    >>> import probing
    >>> with probing.results() as results:
    ...     "nesia-mini" in set(results.models["model"])
    True
    """

    @property
    def plot(self) -> "Plots":
        """The figures of the pages, by the same arguments: ``results.plot.curve(model="nesia-mini")``.

        >>> import probing
        >>> type(probing.results().plot.curve(model="nesia-mini", probe_set="trex")).__name__
        'Figure'
        """
        from probing.api.plots import Plots

        return Plots(self)

    @checked
    def curve(
        self,
        model: Words = None,
        head: Words = None,
        probe_set: Words = None,
        k: Numbers = None,
        average: Words = None,
        templates: str = "default",
        layer: Numbers = None,
    ) -> pd.DataFrame:
        """P@k by layer, as ``probing report precision --json``.

        Args:
            model, head, probe_set: names to keep.
            k: 1, 10 or 100; a fact counts as known if its rank is <= k.
            average: ``macro`` (mean over relations) or ``micro`` (over facts).
            templates: name of the template set that the facts were asked in.
            layer: layers to keep, 0 to L.

        Returns:
            One row per run, k, average and layer: ``model, head, seed, probe_set, k, average, layer, n`` (facts),
                ``value`` (P@k, so
            P@1 at k = 1) with its 95 % interval ``low, high``, and ``low_answers, high_answers`` if
            answers are drawn again, too; ``majority`` (always the relation's most frequent answer; at k = 1
            only) and ``swapped`` (with a swapped subject, over ``swapped_n`` facts). Shares in [0, 1].

        Raises:
            StoreError: if no run has a given model, head, probe set or template set.
            OptionError: if there is no such k, average or layer.

        >>> import probing
        >>> curve = probing.results().curve(model="nesia-mini", head="tied", probe_set="trex", k=1, average="macro")
        >>> bool((curve["low"] <= curve["value"]).all())
        True
        """
        layers = several("layer", layer)
        refuse_layers(self.database, run_names(model, head, probe_set, templates), layers)
        rows = self._report(
            KNOWLEDGE,
            "precision",
            model=model,
            head=head,
            probe_set=probe_set,
            templates=templates,
            k=k,
            average=average,
        )
        return only(rows, "layer", layers)

    @checked
    def total(
        self,
        model: Words = None,
        head: Words = None,
        probe_set: Words = None,
        k: Numbers = None,
        average: Words = None,
        templates: str = "default",
    ) -> pd.DataFrame:
        """Knowledge of the last layer and of any layer, as ``probing report total --json``.

        Args:
            model, head, probe_set, k, average, templates: as for ``curve``.

        Returns:
            One row per run, k and average: ``model, head, seed, probe_set, k, average, n`` (facts), ``last_layer`` and
                ``total`` (shares);
            ``inner_n`` is the number of facts that the last layer misses with the own and with a swapped subject; inner
            layers find ``inner_own`` of them with the own and ``inner_swapped`` with the swapped subject, ``inner_p``
            is by McNemar's exact test.

        Raises:
            StoreError, OptionError: as ``curve``.

        >>> import probing
        >>> total = probing.results().total(model="nesia-mini", head="tied", k=1, average="micro")
        >>> total["probe_set"].tolist()
        ['common_sense', 'google_re', 'questions', 'trex']
        >>> bool((total["total"] >= total["last_layer"]).all())
        True
        """
        return self._report(
            KNOWLEDGE, "total", model=model, head=head, probe_set=probe_set, templates=templates, k=k, average=average
        )

    @checked
    def forgotten(
        self,
        model: Words = None,
        head: Words = None,
        probe_set: Words = None,
        k: Numbers = None,
        definition: Words = None,
        templates: str = "default",
    ) -> pd.DataFrame:
        """Relations that an inner layer knows better than the last, as ``probing report forgotten --json``.

        Args:
            model, head, k, templates: as for ``curve``.
            probe_set: one probe set; None takes ``trex``.
            definition: ``caption`` (by any amount), ``authors`` (unpaired t-test, as in the authors' code) or
                ``strict`` (at least 2 points, McNemar's exact test, corrected).

        Returns:
            One row per run, k and definition: ``model, head, seed, k, definition, relations`` (compared), ``forgotten``
                (number),
            ``share`` in [0, 1], ``names`` (tuple of the forgotten relations).

        Raises:
            StoreError, OptionError: as ``curve``; an OptionError also for several probe sets, because the rows have no
                such column.

        >>> import probing
        >>> forgotten = probing.results().forgotten(model="nesia-mini", head="tied", k=1)
        >>> forgotten[["definition", "relations"]]
          definition  relations
        0    caption         41
        1    authors         41
        2     strict         41
        """
        return self._report(
            KNOWLEDGE,
            "forgotten",
            model=model,
            head=head,
            probe_set=probe_set,
            templates=templates,
            k=k,
            definition=definition,
        )

    @checked
    def transitions(
        self,
        model: Words = None,
        head: Words = None,
        probe_set: Words = None,
        k: Numbers = None,
        base: Words = None,
        templates: str = "default",
    ) -> pd.DataFrame:
        """Facts of the base that fine-tuned models kept, gained and lost at the last layer, as ``probing report
        transitions --json``.

        Args:
            model: models to keep.
            head, probe_set, k, templates: as for ``curve``.
            base: bases to keep; with ``model``, any other models that it is compared with.

        Returns:
            One row per pair of runs and k: ``base, model, head, seed, probe_set, k``, numbers of facts ``kept, gained,
                lost, never``,
            ``p_value`` (McNemar's exact test), and the fates of the lost facts: ``still_inside, moved, suppressed,
            displaced, not_read``; for k = 1 ``still_inside_share, moved_share`` of the lost facts, beside
            ``still_inside_wrong, moved_wrong`` of equally confident wrong answers.

        Raises:
            StoreError, OptionError: as ``curve``; a StoreError also if a model has no base, or has no runs to compare
                with it.

        >>> import probing
        >>> changed = probing.results().transitions(model="nesia-mini-control", head='logit_lens', probe_set="trex", k=1)
        >>> changed[["base", "model"]]
                 base               model
        0  nesia-mini  nesia-mini-control
        >>> bool((changed["lost"] == changed[["still_inside", "moved", "suppressed", "displaced", "not_read"]].sum(axis=1)).all())
        True
        """
        bases = several("base", base)
        refuse_unknown_words("base", bases, sorted(set(all_runs(self.database)["model"])))
        any_two = bases if model is not None else None
        rows = self._report(
            KNOWLEDGE,
            "transitions",
            model=model,
            head=head,
            probe_set=probe_set,
            templates=templates,
            k=k,
            base=any_two,
        )
        if model is not None and rows.empty:
            raise StoreError(without_pair(self.database, run_names(model, head, probe_set, templates), bases))
        return rows if any_two else only(rows, "base", bases)

    @checked
    def tasks(self, model: Words = None) -> pd.DataFrame:
        """Whether fine-tuned models learned their own task, as ``probing report tasks --json``.

        Args:
            model: names to keep; None keeps all but the models of which only results are kept.

        Returns:
            One row per model and score: ``model, base, objective, metric, value, low, high`` (95 % interval),
                ``baseline, baseline_name,
            other, other_name`` (a comparison), ``n``, ``decides`` (whether the verdict on the model depends on it),
            ``verdict`` (on the model).

        Raises:
            OptionError: for a model that has neither a run nor a score.

        >>> import probing
        >>> probing.results().tasks(model="nesia-mini-control")[["metric", "verdict"]].head(1)
                    metric  verdict
        0  masked accuracy  control
        """
        return self._report(KNOWLEDGE, "tasks", model=model)

    @checked
    def facts(
        self,
        model: Words = None,
        head: Words = None,
        probe_set: Words = None,
        *,
        relation: Words = None,
        base: str | None = None,
        part: str | None = None,
        limit: int | None = 100,
        **filters: Unpack[FactFilters],
    ) -> pd.DataFrame:
        """The facts of one run that pass the filters: the list of the Facts page.

        Args:
            model, head, probe_set: the run; None takes the page's default.
            relation: name of a relation.
            base: the model that ``model`` is compared with; None takes its base.
            part: outcome of a fact from ``base`` to ``model`` at the last layer: ``kept, gained, lost, never``, or a
                fate of the lost, ``still_inside, moved, suppressed, displaced, not_read``.
            limit: maximum number of rows; None returns all.
            **filters: see ``FactFilters``: ``text, known, known_at, first_known, last_known, at_layer, at_rank, k,
                exposure, answer_in_subject, order, templates``.

        Returns:
            One row per fact: ``fact_id, probe_set, relation, label, subject, object, prompt, answer_in_subject, pred,
                exposure``; with rank
            1 over layers 1 to L: ``first_layer, last_layer`` (missing if none), ``layers_known``; ``best_rank``, and
                ``last_rank`` at L.

        Raises:
            StoreError: if the run is not stored, or only its counts are.
            OptionError: if a filter or value is unknown.

        >>> import probing
        >>> lost = probing.results().facts("nesia-mini-control", probe_set="trex", part="lost", limit=2)
        >>> len(lost), bool((lost["last_rank"] > 1).all())
        (2, True)
        """
        names = run_names(
            single("model", model),
            single("head", head),
            single("probe_set", probe_set),
            filters.get("templates") or "default",
        )
        run = listed_run(self.database, names, base, part)
        return list_facts(self.database, FactChoice(run, single("relation", relation), base, part, filters), limit)

    @checked
    def fact(self, fact_id: str, model: Words = None, head: Words = None) -> pd.DataFrame:
        """The predictions of every layer of the stored runs for one fact.

        Args:
            fact_id: from the list ``facts``.
            model, head: names to keep.

        Returns:
            One row per run and layer: ``model, head, layer``; of the right answer ``gold_rank`` (in the whole
                vocabulary), ``answer_rank``
            (among the relation's answers), ``other_rank`` (with a swapped subject), ``gold_logp`` (nats) and
            ``probability``; the best ``token`` with its ``token_probability``. Values that are not stored are missing.

        Raises:
            OptionError: if a fact, model or head is not stored.

        >>> import probing
        >>> results = probing.results()
        >>> fact_id = results.facts("nesia-mini", "tied", "trex", text="Paris France capital").loc[0, "fact_id"]
        >>> results.fact(fact_id, model="nesia-mini", head="tied")["layer"].tolist()
        [0, 1, 2, 3, 4, 5, 6, 7, 8]
        """
        names = run_names(model, head)
        return by_layer(open_fact(self.database, fact_id), names.models, names.heads)

    @checked
    def edges(
        self,
        what: str = "summary",
        model: Words = None,
        task: Words = None,
        part: Words = None,
        kind: Words = None,
        unseen: bool = False,
    ) -> pd.DataFrame:
        """Edge probing: results of the probes on spans, as ``probing edges report WHAT --json``.

        Args:
            what: ``summary`` (F1 and the layers at which a task is solved), ``scores`` (every probe), ``labels``,
                ``tasks`` (which of two tasks is solved earlier) or ``models`` (in which of two models a task is solved
                earlier).
            model, task: names to keep.
            part: ``dev`` or ``test``.
            kind: ``cumulative`` (layers 0 to l), ``at`` (one layer) or ``full``.
            unseen: count only targets whose span text does not occur in training.

        Returns:
            For ``summary`` one row per model, encoder, task and part: ``model, encoder, task, part, seeds, f1_first,
            f1_last, memory, ceiling, centre_of_gravity, expected_layer, expected_layer_low, expected_layer_high,
            k_weights, k_gains, f1_first_top, f1_last_top`` (F1 of the most probable label) ``, gain_above_memory,
            selectivity_seen, expected_layer_reason`` (why it is empty) ``, weights_near_uniform, probes,
            probes_stopped`` (by patience); for ``scores`` one per probe: ``model, task, kind, seed, layer, part, f1,
            targets, f1_top, steps, stopped``; for the others one per label or pair, see docs/edges.md. F1 is in [0, 1],
            positions are in layers, K is in bits.

        Raises:
            OptionError: for a word or name that is not known.

        >>> import probing
        >>> summary = probing.results().edges(model="nesia-mini", task="pos", part="test")
        >>> trained = summary[summary["encoder"] == "trained"]
        >>> bool((trained["f1_first"] < trained["f1_last"]).all())
        True
        """
        return self._report(EDGES, what, model=model, task=task, part=part, kind=kind, unseen=unseen)

    @checked
    def sentences(
        self,
        what: str = "accuracy",
        model: Words = None,
        task: Words = None,
        pooling: Words = None,
        reading: Words = None,
        protocol: str = OURS,
        layer: Numbers = None,
    ) -> pd.DataFrame:
        """Sentence probes: results of the probes on one vector per sentence, as ``probing sentences report WHAT
        --json``.

        Args:
            what: ``accuracy`` (every probe), ``changes`` (fine-tuned models against their base), ``groups`` (mean
                change of lower and upper layers), ``where-gone`` (fates of the properties that the base's layers had)
                or ``curve`` (with fewer training sentences).
            model, task: names to keep; None keeps, of models that differ only by their seed, the one with the lowest.
            pooling: ``first`` (token) or ``mean`` (of all tokens).
            reading: for ``accuracy``, ``own``, ``frozen`` or ``mlp``; None keeps ``own``.
            protocol: ``ours``, ``quick`` or ``senteval``.
            layer: layers to keep, 0 to L; ``groups`` have none.

        Returns:
            For ``accuracy`` one row per probe, starting with ``model, task, pooling, layer, reading, c, accuracy,
            n_train, n_test, majority, surface``; for the others see docs/sentences.md. Accuracies in [0, 1].

        Raises:
            OptionError: if a word, name or layer is unknown.

        >>> import probing
        >>> probes = probing.results().sentences(model="nesia-mini", task="subject-number", pooling="mean", layer=[0, 8])
        >>> probes[["layer", "majority"]].round(1)
           layer  majority
        0      0       0.5
        1      8       0.5
        """
        rows = self._report(
            SENTENCES, what, model=model, task=task, pooling=pooling, reading=reading, protocol=protocol
        )
        return only(rows, "layer", several("layer", layer))

    @checked
    def changes(
        self, what: str = "values", model: Words = None, measure: Words = None, heads: bool = False
    ) -> pd.DataFrame:
        """What fine-tuning changed inside models, as ``probing changes report WHAT --json``.

        Args:
            what: ``values`` (attention and similarity of states by layer), ``perplexity`` (with layers replaced by the
                base's) or ``epochs`` (perplexity during the fine-tuning of a model).
            model: names to keep; None keeps, of models that differ only by their seed, the one with the lowest.
            measure: for ``values``, the measures to keep.
            heads: for ``values``, whether to include those of single attention heads.

        Returns:
            For ``values`` one row per model, layer and measure, starting with ``model, base, layer, measure, value,
            low, high``; for the others see docs/changes.md.

        Raises:
            OptionError: for a word or name that is not known.

        >>> import probing
        >>> values = probing.results().changes(model="nesia-mini-control", measure="cka-mean")
        >>> values["layer"].tolist()
        [0, 1, 2, 3, 4, 5, 6, 7, 8]
        """
        return self._report(CHANGES, what, model=model, measure=measure, heads=heads)

    def __getattr__(self, name: str) -> Any:
        """The reports of a capability that has no method above: ``results.NAME(what, **filters)``."""
        if name not in CAPABILITIES or not CAPABILITIES[name].reporting:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return method_of(KINDS[name], self._report)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name, one in CAPABILITIES.items() if one.reporting)})

    def _report(self, reports: Reports, what: str, **given: Any) -> pd.DataFrame:
        """A declared report with the columns of its JSON."""
        choice = chosen(reports, what, **given)
        return choice.report.json_table(reports.table(self.database, choice))
