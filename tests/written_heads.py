"""The tables of docs/heads.md, from the shipped results: ``make docs`` writes them, and a test compares them with what
is committed.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from probing.facts.forgotten import DEFINITIONS
from probing.facts.report import KNOWLEDGE
from probing.kernel.models.checkpoint import IN_PYTHON, REFUSED, why_unusable
from probing.kernel.models.head import DecodingHead
from probing.kernel.models.load import load_encoder
from probing.kernel.models.names import HEADS
from probing.kernel.registry import read_registry
from probing.kernel.store.database import Database
from tests import tiny_models

BASE = "nesia-mini"
LAST = (
    "| model | head | micro: own | swapped | own minus swapped | macro: own | swapped | own minus swapped |\n"
    "|---|---|---:|---:|---|---:|---:|---|"
)
INNER = "| model | head | share | inner: own / swapped | p | best | forgotten |\n|---|---|---:|---|---|---|---|"


def reports(db: Database) -> dict[str, pd.DataFrame]:
    """Report by name, of P@1 on T-REx with the default templates, of trained heads those with seed 0."""
    choices = [KNOWLEDGE.choose(what, {"probe_set": "trex", "k": 1}) for what in ("precision", "total", "forgotten")]
    found = {choice.report.name: choice.report.table(db, choice) for choice in choices}
    return {what: table[table["seed"] == 0] for what, table in found.items()}


def runs(found: dict[str, pd.DataFrame]) -> list[tuple[str, str]]:
    """(Model, head) of the base and the models fine-tuned from it, the base first; without those of which only results
    ship.
    """
    left_out = read_registry().family(BASE).results_only
    pairs = {(row.model, row.head) for row in found["total"].itertuples() if row.model not in left_out}
    return sorted(pairs, key=lambda pair: (pair[0] != BASE, pair[0], HEADS.index(pair[1])))


def shown(share: float) -> str:
    """A share in per cent with one decimal place, without a minus sign for zero."""
    return f"{round(share * 100, 1) + 0.0:.1f}"


def last_layer(found: dict[str, pd.DataFrame]) -> str:
    """P@1 at the last layer, with the own and with the swapped subject."""
    lines = []
    for model, head in runs(found):
        cells = []
        for average in ("micro", "macro"):
            last = _of(found["precision"], model, head, average).sort_values("layer").iloc[-1]
            interval = f"{shown(last['above_swapped_low'])} to {shown(last['above_swapped_high'])}"
            cells += [shown(last["matched"]), shown(last["swapped"]), f"{shown(last['above_swapped'])} ({interval})"]
        lines.append(f"| {_short(model)} | `{head}` | {' | '.join(cells)} |")
    return "\n".join([LAST, *lines])


def inner_layers(found: dict[str, pd.DataFrame]) -> str:
    """What only inner layers know, and what is forgotten."""
    lines = []
    for model, head in runs(found):
        (whole,) = _of(found["total"], model, head, "macro").itertuples()
        by_layer = _of(found["precision"], model, head, "micro")
        layers = by_layer[by_layer["layer"].between(1, by_layer["layer"].max() - 1)]
        highest = layers.loc[layers["above_swapped"].idxmax()]
        counts = _of(found["forgotten"], model, head).set_index("definition")["forgotten"]
        p = "< 0.0001" if whole.inner_p < 0.0001 else f"{whole.inner_p:.2g}"
        cells = [shown(whole.intermediate_share), f"{whole.inner_own:,.0f} / {whole.inner_swapped:,.0f}", p]
        cells += [
            f"{highest['layer']}: {shown(highest['above_swapped'])}",
            " / ".join(str(counts[name]) for name in DEFINITIONS),
        ]
        lines.append(f"| {_short(model)} | `{head}` | {' | '.join(cells)} |")
    return "\n".join([INNER, *lines])


def with_tables(text: str, db: Database) -> str:
    """The document with today's tables in place of those in it."""
    found = reports(db)
    return replaced(text, last_layer(found), inner_layers(found), architectures())


def architectures() -> str:
    """What is found of every masked language model of transformers: of a tiny one, or of its configuration."""
    rows = {kind: f"none: it {why_unusable(kind, 3, False)} | | |" for kind in REFUSED}
    own = {
        kind: f"none with its own tokenizer, `{name}`, which is in Python only | | |"
        for kind, name in IN_PYTHON.items()
    }
    with TemporaryDirectory() as folder:
        for kind in tiny_models.KINDS | tiny_models.WHOLE:
            encoder = load_encoder(tiny_models.save(kind, Path(folder, kind)), device="cpu")
            heads = "all kinds" if isinstance(encoder.head, DecodingHead) else "logit lens"
            norm = f"`{encoder.on_top}`" if encoder.on_top else ""
            rows[kind] = f"{heads} | {norm} | {'of equal length' if encoder.reads_padding else 'any'} |"
    lines = ["| `model_type` | heads | norm on top | texts of a batch |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {kind} | {row}" for kind, row in sorted((rows | own).items()))])


def replaced(text: str, *tables: str) -> str:
    """A document with tables of Markdown in place of those with the same header.

    Raises:
        ValueError: if it has not each table once.
    """
    for table in tables:
        header = table.splitlines()[0]
        text, n = re.subn(rf"{re.escape(header)}\n(?:\|.*\n)*", lambda _, table=table: f"{table}\n", text)
        if n != 1:
            raise ValueError(f"the document has {n} tables with the header {header}, expected one")
    return text


def _of(table: pd.DataFrame, model: str, head: str, average: str = "") -> pd.DataFrame:
    """The rows of a model and head, and of an average if the table has several."""
    rows = table[(table["model"] == model) & (table["head"] == head)]
    return rows[rows["average"] == average] if average else rows


def _short(model: str) -> str:
    return "base" if model == BASE else model.removeprefix(f"{BASE}-")
