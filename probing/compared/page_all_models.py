"""All fine-tuned models: what each kept, lost and gained, how far its weights moved, and every number in one table."""

import pandas as pd
import streamlit as st

from probing.changes.figures import drift_points
from probing.compared.report import LOSSES, all_models, by_layer, drift_and_losses, measures
from probing.compared.report_evidence import FactRuns
from probing.facts.figures_pairs import retention_bars
from probing.facts.runs import pairs
from probing.kernel.app import blocks, selection
from probing.kernel.app.figure_cache import Stamp, drawing
from probing.kernel.app.frame import View, go
from probing.kernel.app.texts import escape
from probing.kernel.figures.looks import set_name, set_order
from probing.kernel.models.names import head_order
from probing.kernel.success import in_words
from probing.sentences.examples import OURS
from probing.terms import METRICS

#: Loss -> title of its axis, factor, name in the menu.
PLANE = {
    "facts_lost": ("facts lost, % of those that the base knows", 100, "facts"),
    "probes_lost_first": ("accuracy lost, first token, points", 100, "probes, first token"),
    "probes_lost_mean": ("accuracy lost, mean of tokens, points", 100, "probes, mean of tokens"),
    "perplexity_cost": ("saved by putting a layer back (log-perplexity), nats", 1, "perplexity"),
    "emd": ("attention moved by, tokens", 1, "attention"),
    "cka_lost": ("sentence vectors changed (1 − CKA)", 1, "similarity"),
}
#: Measure -> heading, format and definition.
MEASURES = {
    "probes_first": (
        "probes, first token, points",
        "points",
        "Change in accuracy of the model's own sentence probes on the first token; mean over tasks and upper layers.",
    ),
    "probes_mean": ("probes, mean of tokens, points", "points", "The same on the mean of all tokens."),
    "facts_lost": (
        "facts lost",
        "percent",
        "Share of the facts that the base knows at the last layer and the model does not.",
    ),
    "perplexity": ("perplexity", "%.0f", METRICS["masked_perplexity"].definition),
    "emd": ("attention moved, tokens", "%.2f", METRICS["attention_movers_distance"].definition),
    "entropy_change": ("entropy change, nats", "%+.2f", METRICS["entropy_change"].definition),
    "cka_last": ("CKA, last layer", "%.2f", METRICS["cka"].definition),
    "drift": ("weight drift", "percent", METRICS["weight_drift"].definition),
}
_CAPTION = "Beyond 100 %: gained. Grey: only counts are stored. Click for facts."
_HOW = (
    "Every fine-tuned model against its own base, with the same head on the same facts; every fact counts once. The end"
    " of the last bar is what the model knows now. Of models that store only counts, kept and gained cannot be told"
    " apart. The control was trained on the base's own text, without a task. Marks: ✓ learned its task, ◐ only partly,"
    " ✗ not at all, ? cannot be told; scores and baselines are in the table, and net losses of other seeds and of"
    " shuffled labels, which are the same task trained again. Losses of a model that did not learn its task say nothing"
    " about the task."
)
_POINTS = "Open: the control, or a net loss of counts only."
_POINTS_HOW = (
    "Change of weights: relative to the norm of the base's, mean over the layers. Facts: lost at the last layer. The"
    " other losses are means over the layers. With so few models this is a hint, not evidence; a layer's states depend"
    " on all weights below it, so a layer can lose something although its own weights did not move."
)
_TABLE = "Net loss: base minus model, in points."


def draw_all_models(view: View, tuned: str) -> None:
    """The tab; it shows all models, so the one that the page compares is not used."""
    st.header("What did each model keep?")
    head, probe_set = _facts(view)
    k = view.chosen.k
    runs = (
        view.runs[(view.runs["head"] == head) & (view.runs["probe_set"] == probe_set)] if len(view.runs) else view.runs
    )
    together = pairs(runs) if len(runs) else pd.DataFrame()
    layers = view.read(by_layer, FactRuns(head, probe_set, k) if head else None, OURS)
    if together.empty and layers.empty:
        blocks.missing("No fine-tuned model is stored together with its base.", blocks.FINETUNE_COMMAND)
        return
    table = view.report(all_models, together, k)
    ids = tuple(dict.fromkeys((*together["base_run_id"], *together["run_id"])))
    stamp = view.stamp(
        f"all models against their bases, {head}, {set_name(probe_set)}, rank ≤ {k}, {view.filter_words()}", ids
    )
    listed = table[~table["model"].isin(view.results_only)].reset_index(drop=True)
    labels = {model: view.label(model) for model in view.all_colours}
    bases = dict(zip(table["model"], table["base"], strict=True))
    # Of counts only it is not known which facts were kept.
    shares = 100 * listed["kept_share"].dropna()
    if len(shares):
        most, least = ((view.name(listed["model"][row]), shares[row]) for row in (shares.index[0], shares.index[-1]))
        of = "models" if len(shares) == len(listed) else "models stored fact by fact,"
        words = "Of {n} {of} {most} keeps most of what its base knew, {high:.0f} %, and {least} least, {low:.0f} %."
        blocks.tab_sentence(words, n=len(shares), of=of, most=most[0], high=most[1], least=least[0], low=least[1])
    if len(listed):
        blocks.figure(
            drawing(retention_bars, listed, k=k, labels=labels),
            table=listed,
            stamp=stamp,
            name="retention",
            caption=_CAPTION,
            how=_HOW,
            alt="Facts kept, lost and gained by model, those that kept most on top",
            on_point=lambda point: go(
                view, model=point[0], head=head, probe_set=probe_set, versus=bases[point[0]], part=point[1], part_k=k
            ),
        )
    measured = view.read(measures, layers)
    _points(view, drift_and_losses(layers, table), labels, stamp)
    _table(view, table, measured, stamp)


def _facts(view: View) -> tuple[str, str]:
    """The head and the probe set of the page, if fine-tuned models have both, else their first; empty without any."""
    there = pairs(view.runs) if len(view.runs) else pd.DataFrame(columns=["head", "probe_set"])
    if there.empty:
        return "", ""
    chosen = view.chosen
    heads = sorted(set(there["head"]), key=head_order)
    head = chosen.head if chosen.head in heads else heads[0]
    sets = sorted(set(there.loc[there["head"] == head, "probe_set"]), key=lambda name: (set_order(name), name))
    return head, chosen.probe_set if chosen.probe_set in sets else sets[0]


def _points(view: View, points: pd.DataFrame, labels: dict[str, str], stamp: Stamp) -> None:
    """Drift of weights against the chosen loss."""
    losses = [name for name in LOSSES if len(points.dropna(subset=["drift", name]))]
    if not losses:
        return
    st.header("Did those that moved most lose most?")
    loss = selection.bound("plane_loss", options=losses, format_func=lambda name: PLANE[name][2])
    title, factor, _ = PLANE[loss]
    blocks.figure(
        drawing(drift_points, points, loss=loss, title=title, factor=factor, colours=view.all_colours, labels=labels),
        table=points,
        stamp=stamp,
        name="drift-loss",
        caption=_POINTS,
        how=_POINTS_HOW,
        alt=f"Change of weights against {title}, one point per model",
    )


def _table(view: View, table: pd.DataFrame, measured: pd.DataFrame, stamp: Stamp) -> None:
    """Every number of every model; the file has further seeds and shuffled labels as rows, too."""
    st.header("All numbers")
    more = [name for name in MEASURES if name != "facts_lost" and measured[name].notna().any()]
    whole = table.merge(measured[["model", "role", *more, "base_perplexity"]], on="model", how="outer")
    mine = whole[~whole["model"].isin(view.results_only)].reset_index(drop=True)
    mine = mine.assign(_order=mine["kept_share"].fillna(mine["now_share"])).sort_values(
        "_order", ascending=False, ignore_index=True
    )
    number = st.column_config.NumberColumn
    top = pd.DataFrame(
        {
            "model": mine["model"].map(view.label),
            "task": mine["model"].map(lambda model: in_words(view.verdicts[model]) if model in view.verdicts else ""),
            **{name: mine[name] for name in ("kept", "lost", "gained")},
            "McNemar's p": (
                mine["p_value"].map(lambda p: "" if pd.isna(p) else "< 0.0001" if p < 0.0001 else f"{p:.2g}")
            ),
            "net": mine["net_lost"],
            "above": mine["net_lost_above"],
            "seeds": [_range(row) for row in mine.to_dict("records")],
            "shuffled": mine["shuffled"],
            "metric": mine["metric"],
            "score": mine["score"],
            "baseline": mine["baseline"],
            **{name: mine[name] for name in more},
        }
    )
    blocks.table_with_download(
        whole,
        shown=top,
        stamp=stamp,
        name="all-models",
        height="content",
        column_config={
            "model": st.column_config.TextColumn(pinned=True),
            "net": number("net loss", format="points"),
            "above": number("net loss beyond a blind guess", format="points"),
            "seeds": "other seeds",
            "shuffled": number("shuffled labels", format="points"),
            "score": number("task score", format="%.3f"),
            "baseline": number("its baseline", format="%.3f"),
            **{
                name: number(MEASURES[name][0], format=MEASURES[name][1], help=escape(MEASURES[name][2]))
                for name in more
            },
        },
    )
    st.caption(_TABLE)


def _range(row: dict) -> str:
    """The net losses of other seeds, in points."""
    if pd.isna(row["seeds_low"]):
        return ""
    low, high = (f"{100 * row[f'seeds_{end}']:.1f}" for end in ("low", "high"))
    return low if low == high else f"{low} to {high}"


assert set(PLANE) == set(LOSSES)
