"""The figures of the pages for the arguments of the results' methods."""

from typing import TYPE_CHECKING, Unpack

from probing.api.display import for_notebook
from probing.api.stored import change_figures, edge_figures, fact_figures, sentence_figures
from probing.api.stored.argument_checks import checked
from probing.api.stored.argument_values import Numbers, Words, chosen, several, single
from probing.api.stored.facts import FactChoice, FactFilters, list_facts, listed_run, open_fact
from probing.api.stored.looks import model_looks
from probing.api.stored.shown_runs import one_run, refuse_layers, run_names
from probing.core.errors import FigureError
from probing.core.knowledge.forgetting import DEFINITIONS
from probing.core.metrics import RANKS
from probing.core.sentences.example import OURS
from probing.core.stats.intervals import AVERAGES
from probing.figures.forgetting.fall_curves import fall_curves
from probing.figures.forgetting.outcome_bars import outcome_bars
from probing.reports.changes.declarations import CHANGES
from probing.reports.edges.declarations import EDGES
from probing.reports.forgetting.declarations import FORGETTING
from probing.reports.forgetting.runs import stored_runs, with_keys
from probing.reports.report import refuse_unknown_words
from probing.reports.sentences.declarations import SENTENCES
from probing.store.forgetting.queries import falls

if TYPE_CHECKING:
    from probing.api.results import Results
    from probing.figures.theme import go


class Plots:
    """Figures of the pages; every method has the arguments of the method of ``Results`` with the same name.

    An argument that is left out has the default of the page. Every method takes ``dark=True`` for a dark notebook and
    returns a ``plotly.graph_objects.Figure``. It raises the errors of the method of ``Results``, and a ``FigureError``
    with the argument to narrow if the figure cannot show the choice.
    """

    def __init__(self, results: "Results"):
        self._results = results
        self._looks = model_looks(results.database)

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
        dark: bool = False,
    ) -> "go.Figure":
        """Layer curves: P@k by layer, one line per run, with 95 % intervals, majority answer and swapped subject.

        Args:
            model, head, probe_set: the runs in one figure.
            k: one of 1, 10, 100; None takes 1.
            average: ``macro`` (default) or ``micro``.
            templates, layer: as for ``Results.curve``.
            dark: for a dark notebook.

        >>> import probing
        >>> figure = probing.results().plot.curve(model="nesia-mini", probe_set="trex", k=10)
        >>> figure.layout.yaxis.title.text
        'right answers, % (P@10, mean of relations)'
        """
        names, layers, cell = run_names(model, head, probe_set, templates), several("layer", layer), _cell(k, average)
        refuse_layers(self._results.database, names, layers)
        return for_notebook(fact_figures.curve_figure(self._results.database, names, cell, layers, self._looks), dark)

    @checked
    def total(
        self,
        model: Words = None,
        head: Words = None,
        probe_set: Words = None,
        k: Numbers = None,
        average: Words = None,
        templates: str = "default",
        dark: bool = False,
    ) -> "go.Figure":
        """Home: knowledge of the last layer and of inner layers only, one bar per run, with the guessing baseline.

        Args:
            model, head, probe_set, k, average, templates, dark: as for ``curve``.

        >>> import probing
        >>> figure = probing.results().plot.total(model="nesia-mini", average="micro")
        >>> figure.data[0].name
        'known at the last layer'
        """
        names = run_names(model, head, probe_set, templates)
        return for_notebook(
            fact_figures.total_figure(self._results.database, names, _cell(k, average), self._looks), dark
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
        dark: bool = False,
    ) -> "go.Figure":
        """Relations: the map of one run, one row per relation, one column per layer, P@k as shade.

        Args:
            model, head, probe_set: one run.
            k: one of 1, 10, 100; None takes 1.
            definition: one of ``caption``, ``authors``, ``strict``, to show only the relations that are forgotten by
                it; None shows all.
            templates, dark: as for ``curve``.

        >>> import probing
        >>> figure = probing.results().plot.forgotten(model="nesia-mini", definition="strict")
        >>> type(figure).__name__
        'Figure'
        """
        names, (rank, _), meant = (
            run_names(*_one(model, head, probe_set), templates),
            _cell(k),
            single("definition", definition),
        )
        refuse_unknown_words("definition", () if meant is None else (meant,), DEFINITIONS)
        return for_notebook(fact_figures.forgotten_figure(self._results.database, names, rank, meant), dark)

    @checked
    def transitions(
        self,
        model: Words = None,
        head: Words = None,
        probe_set: Words = None,
        k: Numbers = None,
        base: Words = None,
        templates: str = "default",
        dark: bool = False,
    ) -> "go.Figure":
        """Compare models: the flow of facts that a fine-tuned model kept, gained and lost, and the fates of the lost
        ones.

        Args:
            model, head, probe_set: one fine-tuned model's run; None takes the first that is stored fact by fact, with
                its base.
            k: one of 1, 10, 100; None takes 1.
            base: one base.
            templates, dark: as for ``curve``.

        >>> import probing
        >>> figure = probing.results().plot.transitions(model="nesia-mini-control", probe_set="trex")
        >>> len(figure.data) > 0
        True
        """
        names, (rank, _) = run_names(*_one(model, head, probe_set), templates), _cell(k)
        return for_notebook(
            fact_figures.transitions_figure(self._results.database, names, rank, single("base", base), self._looks),
            dark,
        )

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
        dark: bool = False,
        **filters: Unpack[FactFilters],
    ) -> "go.Figure":
        """Facts: the rank of the right answer through the layers for the first fact of the list, one line per model.

        Args:
            model, head, probe_set, relation, base, part, **filters: as for ``Results.facts``.
            dark: for a dark notebook.

        >>> import probing
        >>> figure = probing.results().plot.facts(model="nesia-mini", head="tied", probe_set="trex", relation="P36")
        >>> figure.data[0].name.startswith("nesia-mini")
        True
        """
        db = self._results.database
        names = run_names(*_one(model, head, probe_set), filters.get("templates") or "default")
        run = listed_run(db, names, base, part)
        facts = list_facts(db, FactChoice(run, single("relation", relation), base, part, filters), limit=1)
        if facts.empty:
            raise FigureError("no fact passes these filters; give fewer filters")
        fact = open_fact(db, str(facts["fact_id"].iloc[0]), names.templates)
        return for_notebook(fact_figures.ranks_figure(fact, run, self._looks), dark)

    @checked
    def fact(self, fact_id: str, model: Words = None, head: Words = None, dark: bool = False) -> "go.Figure":
        """Facts: the predictions of every layer of one run for one fact, best first; the right answer is framed.

        Args:
            fact_id: from ``Results.facts``.
            model, head: one run; None takes the page's default.
            dark: for a dark notebook.

        >>> import probing
        >>> results = probing.results()
        >>> fact_id = results.facts("nesia-mini", "tied", "trex", limit=1).loc[0, "fact_id"]
        >>> [trace.type for trace in results.plot.fact(fact_id, model="nesia-mini").data]
        ['heatmap', 'heatmap', 'scatter', 'scatter']
        """
        db = self._results.database
        one = open_fact(db, fact_id)
        names = run_names(single("model", model), single("head", head), str(one.about["probe_set"]))
        return for_notebook(fact_figures.tokens_figure(one, one_run(db, names), dark), dark)

    @checked
    def edges(
        self,
        what: str = "summary",
        model: Words = None,
        task: Words = None,
        part: Words = None,
        kind: Words = None,
        unseen: bool = False,
        published: bool = True,
        dark: bool = False,
    ) -> "go.Figure":
        """Pipeline: the layers at which tasks are solved, F1 by layer, labels, or the order of tasks.

        Args:
            what: ``summary`` (centre of gravity and expected layer, one row per task), ``scores`` (F1 by layer, one
                panel per task), ``labels`` (of one task) or ``tasks`` (order of the tasks in one model). There is no
                figure of ``models``.
            model: at most four; None takes those that are not fine-tuned.
            task, unseen: as for ``Results.edges``.
            part: one of ``dev`` (default), ``test``.
            kind: for ``scores``, one of ``cumulative`` (default), ``at``.
            published: for ``summary`` and ``scores``, whether to add the paper's values of BERT-base and BERT-large.
            dark: for a dark notebook.

        >>> import probing
        >>> figure = probing.results().plot.edges(model="nesia-mini", task=["pos", "relations"], published=False)
        >>> list(figure.layout.yaxis.ticktext)
        ['Part of speech', 'Relations']
        """
        choice = chosen(EDGES, what, model=model, task=task, part=part, kind=kind, unseen=unseen)
        return for_notebook(edge_figures.edge_figure(self._results.database, choice, self._looks, published), dark)

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
        dark: bool = False,
    ) -> "go.Figure":
        """Sentence probes: accuracy by layer, the change from the base, the fates of properties, or the learning curve.

        Args:
            what: ``accuracy`` (one panel per task), ``changes`` (one fine-tuned model, tasks by layers), ``where-gone``
                (one fine-tuned model, fates by task) or ``curve`` (one task, by number of training sentences).
                There is no figure of ``groups``.
            model: at most four; None takes the page's default, for ``changes`` and ``where-gone`` the first fine-tuned
                one.
            task, pooling, protocol, layer: as for ``Results.sentences``; ``changes`` shows one pooling, ``curve`` one
                task and, without a layer, the best layer of each line.
            reading: only ``own``, because the figures show own probes.
            dark: for a dark notebook.

        >>> import probing
        >>> figure = probing.results().plot.sentences(model="nesia-mini", task="subject-number")
        >>> figure.layout.annotations[0].text
        '<b>Subject number</b><br>by dev: layer 1, 72.9 %'
        """
        choice = chosen(SENTENCES, what, model=model, task=task, pooling=pooling, reading=reading, protocol=protocol)
        return for_notebook(
            sentence_figures.sentence_figure(self._results.database, choice, several("layer", layer), self._looks), dark
        )

    @checked
    def changes(
        self,
        what: str | None = None,
        model: Words = None,
        measure: Words = None,
        heads: bool = False,
        head: Words = None,
        probe_set: Words = None,
        k: Numbers = None,
        dark: bool = False,
    ) -> "go.Figure":
        """What fine-tuning changed: all measures of one fine-tuned model and its base, on one layer axis.

        Args:
            what: None draws all panels, including facts and probes; ``values`` (attention, states) or ``perplexity``
                draws only its panels. There is no figure of ``epochs``.
            model: one fine-tuned model; None takes the first.
            measure: for ``values``, the measures to keep.
            heads: only False, because the figure shows whole layers.
            head, probe_set, k: one each, for the panel on facts.
            dark: for a dark notebook.

        >>> import probing
        >>> figure = probing.results().plot.changes("values", model="nesia-mini-control", measure="cka-mean")
        >>> sum(one.name == "panel" for one in figure.layout.annotations)
        1
        """
        names = run_names(*_one(model, head, probe_set))
        rank, _ = _cell(k)
        choice = None
        if what is not None or measure is not None or heads:
            choice = chosen(CHANGES, what or "values", model=names.models, measure=measure, heads=heads)
        return for_notebook(
            change_figures.change_figure(self._results.database, choice, names, rank, self._looks), dark
        )

    @checked
    def forgetting(
        self, what: str = "outcome", model: Words = None, probe_set: Words = None, k: Numbers = None, dark: bool = False
    ) -> "go.Figure":
        """What became of the facts that a base knew, or how far the lost ones fell.

        Args:
            what: ``outcome``, the bars of the page "Forgetting", or ``falls``.
            model: names to keep.
            probe_set, k: one each.
            dark: for a dark notebook.

        >>> import probing
        >>> figure = probing.results().plot.forgetting(probe_set="trex", k=1)  # doctest: +SKIP
        """
        choice = chosen(FORGETTING, what, model=model, probe_set=probe_set, k=k)
        if not choice.report.figure:
            raise FigureError(f"the pages have no figure of {what}; use the table, forgetting({what!r})")
        table = FORGETTING.table(self._results.database, choice)
        if several := [name for name in ("probe_set", "k") if table[name].nunique() > 1]:
            raise FigureError(f"the figure shows only one {several[0]}; choose one")
        if what == "falls":
            runs = stored_runs(self._results.database, choice["model"], choice["probe_set"], choice["k"])
            rows = with_keys(runs, falls(self._results.database, list(runs["run_id"])))
            return for_notebook(fall_curves(rows, colours=self._looks.colours, labels=self._looks.labels), dark)
        return for_notebook(outcome_bars(table, labels=self._looks.labels), dark)


def _cell(k: Numbers, average: Words = None) -> tuple[int, str]:
    """One rank and one kind of mean, by default those of the page."""
    rank, mean = single("k", k), single("average", average)
    refuse_unknown_words("k", () if rank is None else (rank,), RANKS)
    refuse_unknown_words("average", () if mean is None else (mean,), AVERAGES)
    return RANKS[0] if rank is None else rank, AVERAGES[0] if mean is None else mean


def _one(model: Words, head: Words, probe_set: Words) -> tuple[str | None, str | None, str | None]:
    """The single names of the run of a figure."""
    return single("model", model), single("head", head), single("probe_set", probe_set)
