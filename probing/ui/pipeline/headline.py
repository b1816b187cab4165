"""The page's answer: which tasks come early and late, and how much the layers add."""

import pandas as pd

from probing.core.edges.encoders import TRAINED
from probing.core.edges.order import EARLIER, NO_PLACE, UNRESOLVED
from probing.ui.choices.grammar import PARTS
from probing.ui.pipeline import order
from probing.ui.pipeline.page_view import Shown
from probing.ui.widgets.glossary import answer
from probing.ui.widgets.markdown import Markdown, count, filled, joined

#: Difference of F1 below which two are equal.
HAIR = 1e-9
#: Maximum number of pairs of tasks in the headline.
NAMED = 3
#: An interval wider than this share of the depth does not place a task.
WIDE = 0.5


_WHAT = (
    "A small classifier, a probe, predicts a label from the frozen vectors of the words in one or two spans: a part of speech, a role, "
    "a relation. P(l) uses the layers 0 to l. The gain in F1 from layer to layer shows from which layer on the probe reads the label."
)


def draw(shown: Shown) -> Markdown:
    """Draws whether the first model's tasks come in an order; returns its numbers and the task that gains most, in words."""
    table = shown.panels.summary
    model = order.model_of(shown)
    task_rows = table[table["model"] == model].dropna(subset=["f1_last"])
    if task_rows.empty:
        return Markdown(_WHAT)
    said, ends = _order(shown, model, task_rows)
    answer(said)
    part = Markdown(
        "The dev part decided when training stopped, as in the paper, so its F1s are slightly too high; those of the test part are given "
        "with them."
        if shown.own.edge_part == "dev"
        else "The test part was not used for training or stopping."
    )
    numbers = joined(" ", [one for one in (ends, _gain(shown, model, task_rows)) if one])
    return joined("\n\n", [Markdown(_WHAT), numbers, part])


def _order(shown: Shown, model: str, task_rows: pd.DataFrame) -> tuple[Markdown, Markdown]:
    """Whether the order of the tasks is resolved; and the layers of the earliest and the latest task."""
    resolved = task_rows.dropna(subset=["expected_layer"]).sort_values("expected_layer")
    called = shown.view.called(model)
    if len(resolved) < 2:
        said = filled("**{model} resolves no order of tasks**: fewer than two tasks gain clearly from its layers.", model=called)
        return said, Markdown("")
    pairs = order.pairs_of(shown, model)
    apart = pairs[pairs["verdict"] != UNRESOLVED]
    wide = (resolved["expected_layer_high"] - resolved["expected_layer_low"]) > resolved["last"] * WIDE
    placed = resolved if wide.all() else resolved[~wide]
    first, last = placed.iloc[0].to_dict(), placed.iloc[-1].to_dict()
    aside = (
        joined(", ", [filled("{task}", task=_title(shown, row)) for row in resolved[wide].to_dict("records")])
        if len(placed) < len(resolved)
        else ""
    )
    single = [_title(shown, row) for row in (first, last) if row["seeds"] == 1]
    ends = filled(
        "Expected layers run from {one} ({first}) to {other} ({last}) of {depth}{aside}{single}.",
        one=_layer(first),
        first=_title(shown, first),
        other=_layer(last),
        last=_title(shown, last),
        depth=int(first["last"]),
        aside=filled("; without {tasks}, whose interval is wider than half the depth", tasks=aside) if aside else "",
        single=filled("; one seed, so over sentences only: {tasks}", tasks=" and ".join(single)) if single else "",
    )
    if apart.empty:
        comparable = pairs[pairs["reason"] != NO_PLACE]
        said = filled(
            "**The order of the tasks is not resolved** for {model}: of {n}, {comparable} can be compared, and none lies clearly apart.",
            model=called,
            n=count(len(pairs), "pair"),
            comparable=len(comparable),
        )
        return said, ends
    if {first["task"], last["task"]} in [{row["first"], row["second"]} for row in apart.to_dict("records")]:
        said = filled(
            "**{first} comes first and {last} last** of the {tasks} tasks that {model} resolves; {apart} of {n} lie clearly apart.",
            first=_title(shown, first).capitalize(),
            last=_title(shown, last),
            tasks=len(resolved),
            model=called,
            apart=len(apart),
            n=count(len(pairs), "pair"),
        )
        return said, ends
    named = [_in_order(shown, row) for row in apart.head(NAMED).to_dict("records")] + [Markdown("…")] * (len(apart) > NAMED)
    said = filled(
        "**The order of the tasks is mostly not resolved** for {model}: {apart} of {n} lie clearly apart ({named}).",
        model=called,
        apart=len(apart),
        n=count(len(pairs), "pair"),
        named=joined(", ", named),
    )
    return said, ends


def _in_order(shown: Shown, row: dict) -> Markdown:
    before, after = (row["first"], row["second"]) if row["verdict"] == EARLIER else (row["second"], row["first"])
    return filled("{before} before {after}", before=_title(shown, {"task": before}), after=_title(shown, {"task": after}))


def _title(shown: Shown, row: dict) -> str:
    title = shown.tasks[row["task"]]
    return title if title.isupper() else title[:1].lower() + title[1:]


def _layer(row: dict) -> Markdown:
    if pd.isna(row["expected_layer_low"]):
        return filled("layer {value:.1f}", value=row["expected_layer"])
    return filled(
        "layer {value:.1f} ({low:.1f} to {high:.1f})",
        value=row["expected_layer"],
        low=row["expected_layer_low"],
        high=row["expected_layer_high"],
    )


def _on_the_other_part(shown: Shown, row: dict) -> Markdown:
    """The same F1s on the part of the data that is not chosen."""
    part = next(one for one in PARTS if one != shown.own.edge_part)
    table = shown.panels.every_summary
    other_rows = table[
        (table["encoder"] == TRAINED) & (table["part"] == part) & (table["model"] == row["model"]) & (table["task"] == row["task"])
    ]
    if other_rows.empty:
        return filled(" ({part} is not stored)", part=part)
    first, last = other_rows.iloc[0][["f1_first", "f1_last"]] * 100
    return filled(" ({part}: from {first:.1f} % to {last:.1f} %)", part=part, first=first, last=last)


def _points(row: dict) -> Markdown:
    """The gain in F1 with its interval."""
    if pd.isna(row.get("gain_low")):
        return filled(", {gain:+.1f} points", gain=row["gain"] * 100)
    return filled(
        ", {gain:+.1f} points ({low:+.1f} to {high:+.1f})", gain=row["gain"] * 100, low=row["gain_low"] * 100, high=row["gain_high"] * 100
    )


def _top(row: dict) -> Markdown:
    """The same F1s of the most probable label, without a threshold; empty if they are not stored."""
    if pd.isna(row.get("f1_last_top")) or pd.isna(row.get("f1_first_top")):
        return Markdown("")
    return filled(
        "; of the most probable label, from {first:.1f} % to {last:.1f} %", first=row["f1_first_top"] * 100, last=row["f1_last_top"] * 100
    )


def _gain(shown: Shown, model: str, task_rows: pd.DataFrame) -> Markdown:
    """The task that gains most from the layers, with the scores of memory, the majority label and a random encoder."""
    row = task_rows.iloc[int((task_rows["f1_last"] - task_rows["f1_first"]).argmax())].to_dict()
    yardsticks = [
        filled("{name} {share:.1f} %", name=name, share=row[column] * 100)
        for column, name in (("memory", "the memory baseline"), ("majority", "one label for all"), ("random", "a random encoder"))
        if pd.notna(row.get(column))
    ]
    above = row["gain"] - row["gain_above_memory"] > HAIR
    said = filled(
        "The layers add most to {task}: F1 rises from **{first:.1f} %** with word embeddings alone to **{last:.1f} %** with all layers"
        "{gain}{top}{other}{memory}",
        task=_title(shown, row),
        first=row["f1_first"] * 100,
        last=row["f1_last"] * 100,
        gain=_points(row),
        top=_top(row),
        other=_on_the_other_part(shown, row),
        memory=filled("; {points:.1f} points of this are above memory", points=100 * row["gain_above_memory"]) if above else "",
    )
    if not yardsticks:
        return filled("{said}; no baseline is stored.", said=said)
    return filled("{said}; baselines: {yardsticks}.", said=said, yardsticks=joined(", ", yardsticks))
