"""What fine-tuning changed in one model, in sentences that rules derive from its numbers."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from probing.core.sentences.example import FIRST, MEAN
from probing.core.sentences.fates import FATES, LEVEL, above_majority
from probing.reports.fine_tuning.evidence import DISTANCE, DRIFT, EDGES, ENTROPY, FACTS, LIKENESS, PERPLEXITY, PROBE

#: Maximum number of layers put back in the sentence on perplexity; half of all layers if that is less.
_PUT_BACK = 3
#: Fates of properties that no linear probe at this layer and pooling finds.
_LOST = FATES[5:]
_POOLING = {FIRST: "the first token", MEAN: "the mean of all tokens"}


@dataclass(frozen=True)
class Names:
    """Names in the paragraph.

    Attributes:
        model, base: the two models.
        tasks: title of each task; a task without a title is called by its name.
    """

    model: str
    base: str
    tasks: Mapping[str, str] = field(default_factory=dict)


def paragraph(found: pd.DataFrame, gone: pd.DataFrame, names: Names) -> tuple[str, ...]:
    """One or two sentences for each kind of evidence that was measured.

    A layer has lost a property if its own probe is worse than the base's with q of at most 5 %, and by more than the control's.

    Args:
        found: of ``evidence``.
        gone: of ``reports.sentences.gone.where_gone``, of the model.
        names: of the models and tasks.

    Returns:
        The sentences in the order of the figure's panels; none if nothing was measured.
    """
    parts = (_facts, _edges, _probes, _attention, _perplexity, _weights)
    said = [one for part in parts[:3] for one in part(found, gone, names)]
    said += _fates(gone)
    said += [one for part in parts[3:] for one in part(found, gone, names)]
    return (*said, *_control(found))


def lost(rows: pd.DataFrame) -> pd.Series:
    """Which rows of sentence probes have lost the property: clearly below the base, and by more than the control."""
    return (rows["q"] <= LEVEL) & (rows["change"] < 0) & ~rows["inside_control"]


def gained(rows: pd.DataFrame) -> pd.Series:
    """Which rows of sentence probes are clearly above the base, and by more than the control."""
    return (rows["q"] <= LEVEL) & (rows["change"] > 0) & ~rows["inside_control"]


def _facts(found: pd.DataFrame, gone: pd.DataFrame, names: Names) -> Iterator[str]:
    rows = _of(found, FACTS)
    if rows.empty:
        return
    last = rows.loc[rows["layer"].idxmax()]
    beside = _beside(last, lambda value: f"control: {value * 100:.1f} %")
    yield (
        f"At layer {last['layer']}, {names.model} still knows {last['value'] * 100:.1f} % ({last['low'] * 100:.1f} to "
        f"{last['high'] * 100:.1f}; {beside}) of the {last['n']:,} facts that {names.base} knows there."
    )


def _edges(found: pd.DataFrame, gone: pd.DataFrame, names: Names) -> Iterator[str]:
    rows = _of(found, EDGES)
    if rows.empty:
        return
    most = rows.loc[rows["change"].abs().idxmax()]
    beside = _beside(most, lambda value: f"control: {_signed(value * 100, 1)}", "control_change")
    yield (
        f"F1 of edge probes (mean over {most['of'].split(': ')[-1]}) changed most at layer {most['layer']}, by "
        f"{_signed(most['change'] * 100, 1)} points ({_signed(most['change_low'] * 100, 1)} to {_signed(most['change_high'] * 100, 1)}; "
        f"{beside})."
    )


def _probes(found: pd.DataFrame, gone: pd.DataFrame, names: Names) -> Iterator[str]:
    for panel in [name for name in dict.fromkeys(found["panel"]) if name.startswith(PROBE)]:
        task = panel.removeprefix(PROBE)
        yield " ".join(_of_task(_of(found, panel), gone[gone["task"] == task], names, _lower(names.tasks.get(task, task))))


def _of_task(rows: pd.DataFrame, gone: pd.DataFrame, names: Names, title: str) -> Iterator[str]:
    if len(gone) and not gone["counted"].any():
        yield f"No probe of {names.base} beats the majority label on {title}, so there was nothing to lose."
        return
    by = {pooling: rows[rows["line"] == pooling].set_index("layer") for pooling in _POOLING}
    had = {pooling: set(_layers_of(gone[gone["counted"]], pooling)) for pooling in _POOLING}
    has = {pooling: set(_layers_of(gone[_above_majority(gone)], pooling)) for pooling in _POOLING}
    fallen = {pooling: sorted(had[pooling] & set(one.index[lost(one)])) for pooling, one in by.items()}
    risen = {pooling: sorted(has[pooling] & set(one.index[gained(one)])) for pooling, one in by.items()}
    if not any(fallen.values()):
        yield f"No layer lost {title}."
    if fallen[FIRST]:
        said = f"{_share(fallen[FIRST], had[FIRST], f'{title} with {_POOLING[FIRST]}')} lost it ({_layers(fallen[FIRST])})"
        held = [layer for layer in fallen[FIRST] if layer in had[MEAN] and layer not in fallen[MEAN]]
        yield f"{said}; {_how_many(len(held), len(fallen[FIRST]))} it with {_POOLING[MEAN]}." if len(by[MEAN]) else f"{said}."
    if fallen[MEAN]:
        yield f"{_share(fallen[MEAN], had[MEAN], f'{title} with {_POOLING[MEAN]}')} lost it ({_layers(fallen[MEAN])})."
    for pooling, layers in risen.items():
        if layers:
            yield f"With {_POOLING[pooling]}, probes predict {title} better than before at {_layers(layers)}."


def _layers_of(cells: pd.DataFrame, pooling: str) -> list[int]:
    return [int(layer) for layer in cells.loc[cells["pooling"] == pooling, "layer"]]


def _above_majority(gone: pd.DataFrame) -> list[bool]:
    """In which cells the fine-tuned model's own probe clearly beats the majority label."""
    cells = zip(gone["own"], gone["n_test"], gone["majority"], strict=True)
    return [above_majority(round(own * n), int(n), majority) for own, n, majority in cells]


def _share(some: Collection[int], of: Collection[int], what: str) -> str:
    """ "2 of the 5 layers that had tense", "The only layer that had tense"."""
    if len(of) == 1:
        return f"The only layer that had {what}"
    return f"All {len(of)} layers that had {what}" if len(some) == len(of) else f"{len(some)} of the {len(of)} layers that had {what}"


def _fates(gone: pd.DataFrame) -> Iterator[str]:
    cells = gone.loc[gone["counted"] & (gone["where_gone"] != ""), "where_gone"] if len(gone) else pd.Series(dtype="object")
    if cells.empty:
        return
    counts = {fate: int((cells == fate).sum()) for fate in FATES}
    held = _list([f"{n} {fate}" for fate, n in counts.items() if n and fate not in _LOST])
    away = _list([f"{n} {fate}" for fate, n in counts.items() if n and fate in _LOST])
    said = f"Of {_count(len(cells), 'cell')} (task, vector, layer) in which the base's probe beats the majority label, "
    if held:
        said += f"a linear probe still works in {sum(counts[fate] for fate in FATES if fate not in _LOST)}: {held}"
    if away:
        said += f"{'; of the others: ' if held else 'a linear probe works as well as before in none: '}{away}"
    yield said + (". Not found does not mean removed: another probe may still find it." if counts[FATES[-1]] else ".")


def _attention(found: pd.DataFrame, gone: pd.DataFrame, names: Names) -> Iterator[str]:
    entropy, distance = _of(found, ENTROPY).dropna(subset=["change"]), _of(found, DISTANCE)
    if len(entropy):
        most = entropy.loc[entropy["change"].abs().idxmax()]
        beside = _beside(most, lambda value: f"control: {_signed(value, 2)}", "control_change")
        known = entropy.dropna(subset=["control_change"])
        inside = (
            f" The control changed as much at {int(known['inside_control'].sum())} of {_count(len(known), 'layer')}." if len(known) else ""
        )
        yield (
            f"The entropy of the first token's attention changed most at layer {most['layer']}, by {_signed(most['change'], 2)} nats "
            f"({beside}).{inside}"
        )
    if len(distance):
        most = distance.loc[distance["value"].idxmax()]
        beside = _beside(most, lambda value: f"control: {value:.2f}")
        yield f"The first token's attention moved furthest at layer {most['layer']}, by {most['value']:.2f} tokens ({beside})."


def _perplexity(found: pd.DataFrame, gone: pd.DataFrame, names: Names) -> Iterator[str]:
    rows = _of(found, PERPLEXITY).dropna(subset=["change"])
    whole = rows[rows["line"] == "none"]
    if whole.empty:
        return
    as_it_is, last = whole.iloc[0], int(rows["layer"].max())
    went = "rose" if as_it_is["change_low"] > 0 else "fell" if as_it_is["change_high"] < 0 else "did not clearly change:"
    beside = _beside(as_it_is, lambda value: f"control: {value:,.0f}")
    nats = f"{_signed(as_it_is['change'], 2)} nats ({_signed(as_it_is['change_low'], 2)} to {_signed(as_it_is['change_high'], 2)})"
    yield f"Masked-LM perplexity {went} from {as_it_is['base_value']:,.0f} to {as_it_is['value']:,.0f} ({beside}), {nats} in its logarithm."
    n = min(_PUT_BACK, last // 2)
    ends = {line: rows[(rows["line"] == line) & (rows["layer"] == layer)] for line, layer in (("first", n), ("last", last + 1 - n))}
    if went == "rose" and n and all(map(len, ends.values())):
        back = {line: as_it_is["change"] - float(one["change"].iloc[0]) for line, one in ends.items()}
        layers = "layer" if n == 1 else f"{n} layers"
        yield (
            f"Putting back the base's first {layers} undoes {back['first']:.2f} nats of the {as_it_is['change']:.2f}, its last {layers} "
            f"{back['last']:.2f}."
        )


def _weights(found: pd.DataFrame, gone: pd.DataFrame, names: Names) -> Iterator[str]:
    drift, like = _of(found, DRIFT), _of(found, LIKENESS)
    like = like[(like["line"] == "cka-mean")].dropna(subset=["value"])
    if len(drift):
        most = drift.loc[drift["value"].idxmax()]
        beside = _beside(most, lambda value: f"control: {value * 100:.1f} %")
        yield (
            f"The weights changed most at layer {most['layer']}: the Frobenius norm of the difference is {most['value'] * 100:.1f} % of "
            f"the norm of the base's weights ({beside})."
        )
    if len(like):
        least = like.loc[like["value"].idxmin()]
        beside = _beside(least, lambda value: f"control: {value:.2f}")
        where = f"layer {least['layer']}: CKA {least['value']:.2f}"
        yield f"Sentence vectors (mean of all tokens) are least similar to the base's at {where} ({beside})."


def _control(found: pd.DataFrame) -> Iterator[str]:
    # For perplexity only the unchanged model: the other rows are parts of the same rise.
    rows = found[(found["panel"] != PERPLEXITY) | ((found["line"] == "none") & (found["layer"] == 1))]
    known = rows.dropna(subset=["control_change", "change"])
    if len(known):
        yield (
            f"The control changed as much in {int(known['inside_control'].sum())} of {_count(len(known), 'value')} measured for both: "
            "such changes need not come from the task."
        )


def _of(found: pd.DataFrame, panel: str) -> pd.DataFrame:
    return found[found["panel"] == panel]


def _beside(row: pd.Series, words, column: str = "control_value") -> str:
    return "no control is stored" if pd.isna(row[column]) else words(float(row[column]))


def _how_many(held: int, of: int) -> str:
    """ "both keep", "that layer keeps"."""
    if of == 1:
        return "that layer keeps" if held else "that layer does not keep"
    if held in (0, of):
        return "none of them keeps" if not held else "both keep" if of == 2 else f"all {of} keep"
    return f"{held} of them {'keeps' if held == 1 else 'keep'}"


def _layers(layers: Sequence[int]) -> str:
    """ "layer 2", "layers 1 to 4 and 7"; layers are in order."""
    runs: list[list[int]] = []
    for layer in layers:
        if runs and layer == runs[-1][-1] + 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    said = [part for run in runs for part in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))]
    return f"{'layer' if len(layers) == 1 else 'layers'} {_list(said)}"


def _list(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _count(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def _signed(value: float, places: int) -> str:
    return f"{value:+.{places}f}".replace("-", "−")


def _lower(title: str) -> str:
    return title if title[:2].isupper() else title[:1].lower() + title[1:]
