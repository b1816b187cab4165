"""What fine-tuning changed in one model, in sentences that rules derive from its numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from probing.core.sentences.example import FIRST, MEAN
from probing.core.sentences.fates import CANNOT_TELL, ELSEWHERE, LEVEL, LINEAR_HERE, NOT_READ, above_majority, majority_p
from probing.core.stats.paired_tests import benjamini_hochberg
from probing.reports.fine_tuning.evidence import DISTANCE, DRIFT, EDGES, ENTROPY, FACTS, LIKENESS, PERPLEXITY, PROBE

#: Maximum number of layers put back in the sentence on perplexity; half of all layers if that is less.
_PUT_BACK = 3
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

    A probe reads a property worse if its accuracy is below that of the base's with q of at most 5 %, and by more than the control's.

    Args:
        found: of ``evidence``.
        gone: of ``reports.sentences.property_places.where_gone``, of the model.
        names: of the models and tasks.

    Returns:
        The sentences in the order of the figure's panels; none if nothing was measured.
    """
    parts = (_facts, _edges, _probes, _attention, _perplexity, _weights)
    said = [one for part in parts[:3] for one in part(found, gone, names)]
    said += _fates(gone)
    said += [one for part in parts[3:] for one in part(found, gone, names)]
    return (*said, *_control(found))


def worse(rows: pd.DataFrame) -> pd.Series:
    """Which probes read the property worse: below the base with q of at most 5 %, and by more than the control."""
    return (rows["q"] <= LEVEL) & (rows["change"] < 0) & ~rows["inside_control"]


def better(rows: pd.DataFrame) -> pd.Series:
    """Which probes read the property better: above the base with q of at most 5 %, and by more than the control."""
    return (rows["q"] <= LEVEL) & (rows["change"] > 0) & ~rows["inside_control"]


def _facts(found: pd.DataFrame, gone: pd.DataFrame, names: Names) -> Iterator[str]:
    rows = _of(found, FACTS)
    if rows.empty:
        return
    last = rows.loc[rows["layer"].idxmax()]
    beside = _beside(last, lambda value: f"control: {value * 100:.1f} %")
    yield (
        f"At layer {last['layer']}, {names.model} still gives the answer to {last['value'] * 100:.1f} % ({last['low'] * 100:.1f} to "
        f"{last['high'] * 100:.1f}; {beside}) of the {last['n']:,} facts that {names.base} answers there."
    )


def _edges(found: pd.DataFrame, gone: pd.DataFrame, names: Names) -> Iterator[str]:
    rows = _of(found, EDGES)
    if rows.empty:
        return
    most = rows.loc[rows["change"].abs().idxmax()]
    beside = _beside(most, lambda value: f"control: {_signed(value * 100, 1)}", "control_change")
    yield (
        f"F1 of edge probes (mean over {most['of'].split(': ')[-1]}) is {most['value'] * 100:.1f} % at layer {most['layer']}, where it "
        f"changed most: {_signed(most['change'] * 100, 1)} points ({_signed(most['change_low'] * 100, 1)} to "
        f"{_signed(most['change_high'] * 100, 1)}; {beside})."
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
    fallen = {pooling: sorted(had[pooling] & set(one.index[worse(one)])) for pooling, one in by.items()}
    risen = {pooling: sorted(has[pooling] & set(one.index[better(one)])) for pooling, one in by.items()}
    if not any(fallen.values()):
        # Without the cells that the base's probes read, nothing is known of what there was to lose.
        layers = sorted(had[FIRST] | had[MEAN])
        if not layers:
            yield f"At which layers probes of {names.base} read {title} is not stored."
        elif _too_weak(gone):
            yield f"The probes of {names.base} read {title} too weakly to show a loss."
        else:
            yield f"Probes read {title} worse than before at none of {_count(len(layers), 'layer')}."
    for pooling in _POOLING:
        if fallen[pooling]:
            yield _worse(by[pooling], gone[gone["pooling"] == pooling], fallen[pooling], f"{title} with {_POOLING[pooling]}")
            yield from _of_one_seed(by[pooling], fallen[pooling])
    for pooling, layers in risen.items():
        if layers:
            yield f"With {_POOLING[pooling]}, probes predict {title} better than before at {_layers(layers)}."
            yield from _of_one_seed(by[pooling], layers)


def _worse(rows: pd.DataFrame, gone: pd.DataFrame, layers: Sequence[int], what: str) -> str:
    """At which layers the own probe is worse than the base's, the greatest fall, and where it still beats the majority label."""
    had = gone[gone["counted"]].set_index("layer")
    most = int(rows.loc[layers, "change"].idxmin())
    before, change = rows.at[most, "base_value"], rows.at[most, "change"]
    still = int(_above_majority(had.loc[layers]).sum())
    fell = f"{before * 100:.1f} to {(before + change) * 100:.1f} %; majority baseline {had.at[most, 'majority'] * 100:.1f} %"
    where = _layers(layers) if len(layers) == 1 else f"{_layers(layers)}; most at layer {most}"
    at = "that layer" if len(layers) == 1 else f"{still} of these"
    beat = f"{'still' if still or len(layers) > 1 else 'no longer'} beat the majority at {at}"
    return f"Probes read {what} worse than before at {len(layers)} of {_count(len(had), 'layer')} ({where}: {fell}), and {beat}."


def _too_weak(gone: pd.DataFrame) -> bool:
    """Whether the base's probes beat the majority in no cell of a task once its cells are tested together (Benjamini and Hochberg)."""
    cells = zip(gone["base_accuracy"], gone["n_test"], gone["majority"], strict=True)
    p_values = [majority_p(round(accuracy * n), int(n), majority) for accuracy, n, majority in cells]
    return not (benjamini_hochberg(p_values) <= LEVEL).any()


def _of_one_seed(rows: pd.DataFrame, layers: Sequence[int]) -> Iterator[str]:
    """Which of these changes are of one seed only and no larger than what seeds of another model differ by."""
    if small := [layer for layer in layers if rows.at[layer, "within_seeds"]]:
        yield f"Only one seed was trained, and seeds of another model differ by as much at {_layers(small)}."


def _layers_of(cells: pd.DataFrame, pooling: str) -> list[int]:
    return [int(layer) for layer in cells.loc[cells["pooling"] == pooling, "layer"]]


def _above_majority(gone: pd.DataFrame) -> pd.Series:
    """In which cells the fine-tuned model's own probe clearly beats the majority label."""
    cells = zip(gone["own"], gone["n_test"], gone["majority"], strict=True)
    above = [above_majority(round(own * n), int(n), majority) for own, n, majority in cells]
    return pd.Series(above, index=gone.index, dtype=bool)


def _fates(gone: pd.DataFrame) -> Iterator[str]:
    cells = gone.loc[gone["fate"] != "", "fate"] if len(gone) else pd.Series(dtype="object")
    if cells.empty:
        return
    counts = cells.value_counts().to_dict()
    parts = [
        f"{what} in {sum(counts[fate] for fate in there)} ({_list([f'{counts[fate]} {fate}' for fate in there])})"
        for what, fates in (("a linear probe of the same cell holds", LINEAR_HERE), ("only another probe holds", ELSEWHERE))
        if (there := [fate for fate in fates if fate in counts])
    ]
    parts += [f"{NOT_READ} in {counts[NOT_READ]}"] if NOT_READ in counts else []
    said = f"Of {_count(len(cells), 'cell')} (task, vector, layer) in which the base's probe beats the majority label, {', '.join(parts)}"
    if CANNOT_TELL in counts:
        said += f"{'; ' if parts else ''}{counts[CANNOT_TELL]} cannot be decided with so few test sentences"
    yield said + (". Another kind of probe may still read it." if NOT_READ in counts else ".")


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
            "such changes need not come from the task. The others exceed the control, which alone does not show that the task caused them."
        )


def _of(found: pd.DataFrame, panel: str) -> pd.DataFrame:
    return found[found["panel"] == panel]


def _beside(row: pd.Series, words, column: str = "control_value") -> str:
    return "no control is stored" if pd.isna(row[column]) else words(float(row[column]))


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
