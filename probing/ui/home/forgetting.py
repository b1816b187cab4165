"""The home page's second question: which facts that the base answers rightly did fine-tuning lose?"""

import pandas as pd
import streamlit as st

from probing.core.forgetting.memory import NEVER_HAD
from probing.core.stats.baselines import may_be_shown
from probing.figures.knowledge.loss_points import loss_points
from probing.figures.knowledge.retention_bars import retention_bars
from probing.figures.shown_runs import set_name
from probing.reports.comparability import as_long
from probing.reports.knowledge.heads.losses import points_lost
from probing.reports.knowledge.transitions import transitions
from probing.reports.runs import pairs
from probing.reports.wider import wider
from probing.store.knowledge.pair_queries import paired_majority
from probing.ui.frame import facts_link, navigation, yardsticks
from probing.ui.frame.page import View
from probing.ui.home.knowledge_bars import with_key
from probing.ui.widgets import blocks
from probing.ui.widgets.captions import LOST_WORDS
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown, filled, joined
from probing.ui.widgets.task_marks import task_sentence

_CAPTION = "In per cent of the base's right answers at its last layer. Left: lost. Right: kept, then gained. Click to open the facts."


def draw(view: View) -> None:
    """Draws the facts kept, gained and lost by every fine-tuned model on one probe set; draws nothing if none is stored."""
    head, probe_set, k = view.chosen.heads[0], view.chosen.probe_sets[0], view.chosen.k
    runs = view.runs[(view.runs["head"] == head) & (view.runs["probe_set"] == probe_set)]
    together = pairs(runs)
    if together.empty:
        return
    table, lost = view.report(transitions, together, (k,)), view.report(points_lost, together, k)
    table = table[table["kept"] + table["lost"] > 0]
    view.contents.section("What fine-tuning cost")
    if table.empty and lost["value"].notna().any():
        st.info("Only counts are stored for these models, so their facts cannot be compared one by one.", icon=":material/info:")
        _points(view, lost, head, probe_set)
        return
    if table.empty:
        st.info("The base answers no fact rightly under these filters. Loosen them in the sidebar.")
        return
    share = table.assign(share=table["lost"] / (table["kept"] + table["lost"])).sort_values("share", ascending=False)
    named = list(dict.fromkeys((*share["model"].head(1), *share.loc[share["model"].isin(view.controls), "model"].head(1))))
    st.markdown(_sentence(view, share, probe_set, lost))
    filters = f"kept, gained and lost, {set_name(probe_set)}, {head} heads, rank ≤ {k}, {view.filter_words()}"
    labels = {model: view.label(model) for model in (*table["model"], *table["base"])}
    bases = dict(zip(table["model"], table["base"], strict=True))
    blocks.figure(
        drawing(retention_bars, table, k=k, colours=view.colours, labels=labels, controls=view.controls),
        table=table,
        stamp=view.stamp(filters, tuple(table["run_id"])),
        name="home-retention",
        caption=with_key(view, _CAPTION, labels),
        alt="Kept, gained and lost by fine-tuned model",
        on_point=lambda point: facts_link.go(
            view, head=head, probe_set=probe_set, model=str(point[0]), versus=bases[str(point[0])], part=str(point[1]), part_k=k
        ),
    )
    blocks.in_words(_more(view, share), in_points(view, lost, named))
    words = "The same in points, and minus the swapped subject"
    blocks.folded(words, lambda: _points(view, lost, head, probe_set), key="home-points.fold", icon="straighten")
    navigation.link("compare", "Compare any two models, by layer and by fact")


def in_points(view: View, lost: pd.DataFrame, models: list[str]) -> Markdown:
    """The models' losses of P@k and of P@k minus the swapped subject, in words; empty if no swapped subject is stored."""
    rows = wider(lost[lost["model"].isin(models)]).dropna(subset=["lost_above"])
    rows = rows.sort_values("model", key=lambda names: names.map(models.index))
    if rows.empty:
        return Markdown("")
    parts = [
        filled(
            "{model} loses **{lost:.1f}** ({low:.1f} to {high:.1f}), and minus the swapped subject **{above:.1f}** ({above_low:.1f} to "
            "{above_high:.1f})",
            model=view.called(row.model),
            lost=row.lost * 100,
            low=row.lost_low * 100,
            high=row.lost_high * 100,
            above=row.lost_above * 100,
            above_low=row.lost_above_low * 100,
            above_high=row.lost_above_high * 100,
        )
        for row in rows.itertuples()
    ]
    return filled("In points of P@{k}: {parts}.", k=int(rows["k"].iloc[0]), parts=joined("; ", parts))


def _points(view: View, lost: pd.DataFrame, head: str, probe_set: str) -> None:
    """Draws every model's loss in points, and the part of it that came from the subject."""
    k = view.chosen.k
    blocks.figure(
        drawing(loss_points, lost, k=k, colours=view.colours, labels=yardsticks.labels(view), controls=view.controls),
        table=lost,
        stamp=view.stamp(
            f"P@{k} lost at the last layer, micro, {set_name(probe_set)}, {head} heads, {view.filter_words()}", tuple(lost["run_id"])
        ),
        name="home-points",
        caption=LOST_WORDS,
        alt=f"Points of P@{k} and of P@{k} minus swapped subject lost by fine-tuned model",
    )


def _sentence(view: View, table: pd.DataFrame, probe_set: str, lost: pd.DataFrame) -> Markdown:
    """The losses of the fine-tuned models and of the control in one sentence.

    Args:
        view: the page.
        table: ``base_run_id, run_id, model, base, kept, gained, lost`` and ``share``, lost facts per fact that the base knows.
        probe_set: the probe set.
        lost: of ``points_lost``, also of models whose facts are stored as counts only.
    """
    control = table["model"].isin(view.controls)
    tuned = table[~control].sort_values("share", ascending=False, kind="stable")
    words = []
    if len(tuned):
        of = filled(
            "Of the {known:,} {probe_set} facts that {base} {knows} at its last layer{guesses}, ",
            known=_known(tuned.iloc[0]),
            knows="answers rightly" if view.chosen.k == 1 else f"has at rank ≤ {view.chosen.k}",
            guesses=_never_had(view, tuned.iloc[0]),
            probe_set=set_name(probe_set),
            base=view.called(tuned["base"].iloc[0]),
        )
        words += [of, _losses(view, tuned), _by_counts(view, lost[~lost["model"].isin(table["model"])])]
    if control.any():
        words.append(_yardstick(view, table[control].iloc[0], list(tuned["model"])))
    else:
        words.append(Markdown(". The cost of any further training is unknown here, because no control is stored."))
    return joined("", words)


def _more(view: View, table: pd.DataFrame) -> Markdown:
    """How many of the known facts are guessed, and the task scores of the models that lost most and least; ``table`` as for ``_sentence``.

    Empty without a fine-tuned model.
    """
    tuned = table[~table["model"].isin(view.controls)].sort_values("share", ascending=False, kind="stable")
    if tuned.empty:
        return Markdown("")
    scores = [task_sentence(view, model, view.called(model)) for model in dict.fromkeys(tuned["model"].iloc[[0, -1]])]
    return joined(" ", [one for one in (_guessed(view, tuned.iloc[0]), *scores) if one])


def _known(row: pd.Series) -> int:
    """Number of facts that the base knows, among those asked of the model and its base."""
    return int(row["kept"] + row["lost"])


def _never_had(view: View, row: pd.Series) -> Markdown:
    """How many of the known facts the base can only have guessed; empty if none, or if it is not known what its text states."""
    found = view.report(transitions, [(row["base_run_id"], row["run_id"])], (view.chosen.k,), exposures=NEVER_HAD)
    never = 0 if found.empty or view.exposures else _known(found.iloc[0])
    return filled(" ({n:,} of them guesses that its training text never had)", n=never) if never else Markdown("")


def _losses(view: View, tuned: pd.DataFrame) -> Markdown:
    """The largest and the smallest loss of the fine-tuned models, sorted by loss; for a single model its loss."""
    most, least = tuned.iloc[0], tuned.iloc[-1]
    if len(tuned) == 1:
        return filled("{model} loses **{share:.0f} %**", model=view.called(most["model"]), share=most["share"] * 100)
    return filled(
        "the {n} fine-tuned models whose single facts are stored lose from **{most:.0f} %** ({first}) to **{least:.0f} %** ({last})",
        n=len(tuned),
        most=most["share"] * 100,
        first=view.called(most["model"]),
        least=least["share"] * 100,
        last=view.called(least["model"]),
    )


def _by_counts(view: View, lost: pd.DataFrame) -> Markdown:
    """The range of net losses of the other fine-tuned models, without further seeds and controls; empty if there are none."""
    counted = lost[~lost["model"].isin({*view.controls, *view.results_only})].query("base_value > 0 and lost.notna()")
    if counted.empty:
        return Markdown("")
    shares = counted["lost"] / counted["base_value"]
    return filled(
        "; of {n} more only counts are stored: they lose {range} % net of what they gain",
        n=counted["model"].nunique(),
        range=" to ".join(dict.fromkeys(f"{one * 100:.0f}" for one in (shares.min(), shares.max()))),
    )


def _guessed(view: View, row: pd.Series) -> Markdown:
    """How many of the facts that the base knows the majority answer also gets right.

    ``""`` for k > 1, because it is a single answer, and for too few facts.
    """
    if view.chosen.k != 1 or not may_be_shown(row["n"]):
        return Markdown("")
    of = (row["base_run_id"], row["run_id"], view.exposures, view.in_subject)
    known, hits = view.read(paired_majority, *of, known=view.chosen.k)
    return filled(
        "For {hits:,} of the {known:,} facts that the base answers rightly, the relation's commonest answer would be right, too.",
        known=known,
        hits=hits,
    )


def _yardstick(view: View, control: pd.Series, tuned: list[str]) -> Markdown:
    """The control's losses, as the end of a sentence or as a separate sentence."""
    same, _ = as_long(control["model"], tuned)
    training = "training as long" if same else "further training"
    return filled(
        "{training} on the base's pre-training text ({model}{length}) loses **{share:.0f} %** and gains {gained:.0f} %.",
        training=f"; {training}" if tuned else training.capitalize(),
        model=view.called(control["model"]),
        length="" if same else ", not known to be trained as long",
        share=control["share"] * 100,
        gained=control["gained"] / (control["kept"] + control["lost"]) * 100,
    )
