"""The cards of shared heads, predictions and probes: model, origin, quality, and how to download them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from probing import __version__
from probing.core.errors import HubError
from probing.core.head_kinds import LOGIT_LENS
from probing.core.provenance import LOCAL, stored_configuration
from probing.store.kinds import Card, kinds_of
from probing.store.schema import SCHEMAS, TABLES
from probing.workflows.share.heads import HeadSet

#: Licences that the hub has a name for; every other is ``other`` there, and the card's text names it.
HUB_LICENCES = (
    "apache-2.0",
    "mit",
    "cc-by-4.0",
    "cc-by-sa-3.0",
    "cc-by-sa-4.0",
    "cc-by-nc-4.0",
    "cc0-1.0",
    "unknown",
    "other",
)


def hub_licence(licence: str) -> str:
    """A licence in the hub's spelling."""
    written = licence.lower().replace(" ", "-")
    return written if written in HUB_LICENCES else "other"


@dataclass(frozen=True)
class Origin:
    """The model that results are of.

    Attributes:
        name: how results call it.
        hub_id: its full id on the hub; empty for a folder.
        revisions: its commits there, as results have them.
        bases: hub ids and commits of the bases whose heads or weights were used.
    """

    name: str
    hub_id: str = ""
    revisions: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()

    @property
    def base_model(self) -> str | None:
        """What the hub links the card to."""
        return self.hub_id or (self.bases[0].rpartition("@")[0] if self.bases else None)

    @property
    def line(self) -> str:
        """The model, its id and its commits, for the table of a card."""
        of_hub = f", {self.hub_id}" if self.hub_id else ""
        known = [f"`{one}`" for one in self.revisions if one != LOCAL]
        return f"{self.name}{of_hub}" + (f", revision {', '.join(known)}" if known else "")

    @property
    def base_lines(self) -> list[str]:
        """Rows of the table of a card."""
        pairs = [base.rpartition("@") for base in self.bases]
        return [f"| Base | {hub_id}, revision `{commit}` |" for hub_id, _, commit in pairs]


def origin_of_runs(name: str, rows: Sequence[Mapping[str, Any]]) -> Origin:
    """The model of stored runs, by their configurations.

    Raises:
        HubError: if they are of models of the hub with different ids, though they have one name.
    """
    configs = [stored_configuration(row["config"]) for row in rows]

    def said(field: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(str(config[field]) for config in configs if config.get(field)))

    if len(ids := said("hub_id")) > 1:
        raise HubError(
            f"the runs of {name} are of several models of the hub: {', '.join(ids)}; name a folder with those of one"
            " (--runs)"
        )
    return Origin(name, ids[0] if ids else "", said("model_revision"), said("base_source"))


def heads_card(
    origin: Origin,
    weights: str,
    sets: Sequence[HeadSet],
    datasets: Sequence[str],
    language: str,
    licence: str,
    where: str,
) -> str:
    """The card of a model repository with decoding heads."""
    from huggingface_hub import ModelCardData

    data = ModelCardData(
        base_model=origin.base_model,
        datasets=list(datasets) or None,
        language=language,
        library_name="bertnesia-explorer",
        license=hub_licence(licence),
        tags=["decoding-heads", "probing", "masked-language-modelling", "interpretability"],
    )
    lines = [
        f"# Decoding heads of {origin.name}, one per layer",
        "",
        (
            "A decoding head turns a layer's hidden state at the mask into a distribution over the vocabulary. The"
            " encoder stays unchanged; only the heads were trained, by masked language modelling, as in *BERTnesia*"
            " (Wallat, Singh and Anand, 2020)."
        ),
        "",
        "| | |",
        "|---|---|",
        f"| Encoder | {origin.line} |",
        *origin.base_lines,
        f"| Weights of the encoder, sha256 | `{weights}` |",
        f"| Licence | {licence} |",
        f"| Text | {', '.join(datasets) or 'unknown; its sha256 is in the recipe'} |",
        f"| Made by | BERTnesia Explorer {__version__}, `python -m probing train-heads` |",
        "",
        *_how_to_take(where),
    ]
    for heads in sets:
        of = "all layers" if heads.seed == 0 else f"the last layer, replicate with seed {heads.seed}"
        recipe = json.dumps(heads.recipe, indent=1, sort_keys=True)
        lines += [f"## `{heads.kind}` heads of {of}", "", "Recipe:", "", "```json", recipe, "```", ""]
        lines += ["Validation loss in nats (mean cross-entropy at masked positions):", "", *_losses(heads), ""]
    return f"---\n{data.to_yaml()}\n---\n\n" + "\n".join(lines)


def _losses(heads: HeadSet) -> list[str]:
    """The validation losses of a set of heads by layer; also those of logit lens and map, if a layer was tried with
    both.
    """
    tried = any("map" in row for row in heads.losses)
    random = heads.recipe.get("start") == "random"
    ways = ["by logit lens", "by least-squares map"] if tried else [] if random else ["by logit lens"]
    names = ["layer", *ways, "at the start", "final", "at step"]
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for row in heads.losses:
        # A head that was not tried on top of the map started as the pre-trained one, unless it started at random.
        lens = row.get(LOGIT_LENS, None if random else row["start"])
        values = [*(lens, row.get("map"))[: len(ways)], row["start"], row["best"]]
        shown = ["" if value is None else f"{value:.3f}" for value in values]
        lines.append(f"| {' | '.join([str(row['layer']), *shown, str(row['best_step'])])} |")
    if some := sorted({row["positions"] for row in heads.losses if "positions" in row}):
        first = f"the first {' or '.join(f'{n:,}' for n in some)} validation positions"
        lines += [
            "",
            (
                f"If logit lens and map both have a value, they were compared on {first}; start and final losses are"
                " over all."
            ),
        ]
    return lines


def results_card(
    what: str,
    origin: Origin,
    runs: Sequence[dict],
    tables: Sequence[str],
    licences: Mapping[str, str],
    language: str,
    licence: str,
    where: str,
) -> str:
    """The card of a data set repository with stored runs.

    Args:
        what: the runs are shared as.
        origin: the model.
        runs: their rows.
        tables: the tables with a file.
        licences: task -> licence of its data.
        language: of the facts or of the tasks' text.
        licence: of the data set.
        where: the remote's name for ``pull``.
    """
    usual = next(kind.card for kind in kinds_of(what) if kind.card)
    described = [
        (kind.card or usual, of_kind) for kind in kinds_of(what) if (of_kind := list(filter(kind.holds, runs)))
    ]
    card = described[0][0]
    lines = _data_of_tasks(licences, card.named) if card.named else []
    lines += [
        "## Runs",
        "",
        f"A run's name is the first 16 hex digits of sha256 over its configuration, the column `config`{card.of_runs}",
    ]
    for one, of_kind in described:
        lines += ["", f"| {' | '.join(['run', *one.columns])} |", "|" + "---|" * (len(one.columns) + 1)]
        for run in of_kind:
            shown = [run[cell] if isinstance(cell, str) else cell(run) for cell in one.columns.values()]
            lines.append(f"| `{run['run_id']}` | {' | '.join(map(str, shown))} |")
    if card.described:
        lines += ["", f"## Columns of `{card.described}`", "", "| column | meaning |", "|---|---|"]
        lines += [
            f"| `{column.name}` | {column.says.replace('``', '`')} |" for column in TABLES[card.described].columns
        ]
    lines += _columns(
        "Other tables" if card.described else "Tables", [table for table in tables if table != card.described]
    )
    rows = sum(map(card.size, runs)) if card.size else None
    made_by = " and ".join(f"`{kind.command}`" for kind in kinds_of(what)).replace("`", "`python -m probing ", 1)
    return _header(card, made_by, origin, tables, rows, language, licence, where) + "\n".join(lines) + "\n"


def _header(
    card: Card,
    made_by: str,
    origin: Origin,
    tables: Sequence[str],
    rows: int | None,
    language: str,
    licence: str,
    where: str,
) -> str:
    """Metadata, title, licence, model and how to download a data set."""
    from huggingface_hub import DatasetCardData

    first, title = next((table for table in card.first if table in tables), ""), card.title.format(name=origin.name)
    configs = [
        {"config_name": table, "data_files": f"data/{table}-*.parquet"} | ({"default": True} if table == first else {})
        for table in tables
    ]
    of_model: dict[str, Any] = {"base_model": origin.base_model} if origin.base_model else {}
    data = DatasetCardData(
        language=language,
        license=hub_licence(licence),
        pretty_name=title,
        size_categories=None if rows is None else _size(rows),
        tags=["probing", *card.tags, "interpretability"],
        configs=configs,
        **of_model,
    )
    lines = [
        f"# {title}",
        "",
        card.about,
        "",
        f"| Licence | {licence} |",
        "|---|---|",
        f"| Model | {origin.line} |",
        *origin.base_lines,
        f"| Made by | BERTnesia Explorer {__version__}, {made_by} |",
        "",
        *_how_to_take(where),
    ]
    return f"---\n{data.to_yaml()}\n---\n\n" + "\n".join(lines) + "\n"


def _how_to_take(where: str) -> list[str]:
    return [
        "To download it and check every file against `manifest.json`:",
        "",
        "```",
        f"python -m probing pull {where}",
        "```",
        "",
    ]


def _data_of_tasks(licences: Mapping[str, str], named: str) -> list[str]:
    rows = [f"| {task} | {licence} |" for task, licence in licences.items()]
    return ["## Data of the tasks", "", named, "", "| task | licence |", "|---|---|", *rows, ""]


def _columns(title: str, tables: Sequence[str]) -> list[str]:
    rows = [f"| `{table}` | {', '.join(f'`{name}`' for name in SCHEMAS[table].names)} |" for table in tables]
    return ["", f"## {title}", "", "| table | columns |", "|---|---|", *rows]


def _size(rows: int) -> str:
    for limit, name in (
        (10**3, "n<1K"),
        (10**4, "1K<n<10K"),
        (10**5, "10K<n<100K"),
        (10**6, "100K<n<1M"),
        (10**7, "1M<n<10M"),
    ):
        if rows < limit:
            return name
    return "10M<n<100M" if rows < 10**8 else "100M<n<1B"
