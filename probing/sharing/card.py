"""The card of a share: model, origin, licence, what is in it, and how to download it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.kernel.errors import HubError
from probing.kernel.provenance import LOCAL, stored_configuration
from probing.kernel.store.parquet import table_of
from probing.kernel.version import __version__
from probing.subjects import HEADS, kinds_of

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
#: Begins the line of every card by which a card is known to be ours.
MADE_BY = "- Made by: BERTnesia Explorer"
#: Tables that the hub's viewer shows, the largest ones, and lines about runs or heads: a card fits on two screens.
_TABLES, _LINES = 5, 20


@dataclass(frozen=True)
class Origin:
    """The model that results are of."""

    name: str  #: how results call it
    hub_id: str = ""  #: its full id on the hub; empty for a folder
    revisions: tuple[str, ...] = ()  #: its commits there, as results have them
    bases: tuple[str, ...] = ()  #: hub ids and commits, ID@COMMIT, of the bases whose heads or weights were used

    @property
    def base_model(self) -> str | None:
        """What the hub links the card to."""
        return self.hub_id or (self.bases[0].rpartition("@")[0] if self.bases else None)

    @property
    def line(self) -> str:
        """The model, its id and its commits."""
        known = ", ".join(f"`{one}`" for one in self.revisions[:_TABLES] if one != LOCAL)
        return self.name + (f", {self.hub_id}" if self.hub_id else "") + (f", revision {known}" if known else "")


def origin_of_runs(name: str, rows: Sequence[Mapping[str, Any]]) -> Origin:
    """The model of stored runs, by their configurations; a HubError if one name has different ids on the hub."""
    configs = [stored_configuration(row["config"]) for row in rows]

    def said(field: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(str(config[field]) for config in configs if config.get(field)))

    if len(ids := said("hub_id")) > 1:
        raise HubError(
            f"the runs of {name} are of several models of the hub: {', '.join(ids)}; name a folder with those of one"
            " (--runs)"
        )
    return Origin(name, ids[0] if ids else "", said("model_revision"), said("base_source"))


def card(
    what: str,
    origin: Origin,
    lines: Sequence[str],
    folder: Path,
    licences: Mapping[str, str],
    language: str,
    licence: str,
    where: str,
    texts: Sequence[str] = (),
) -> str:
    """The card of a share; ``lines`` are about each run or set of heads, ``texts`` are what heads learned from."""
    from huggingface_hub import DatasetCardData, ModelCardData

    about, made_by, title = "Heads that read every layer of the unchanged encoder as a distribution over words.", "", ""
    usual: dict[str, Any] = {"language": language, "license": licence.lower().replace(" ", "-")}
    usual |= {"license": usual["license"] if usual["license"] in HUB_LICENCES else "other"}
    usual |= {"tags": ["probing", "interpretability", what]}
    usual |= {"base_model": origin.base_model} if origin.base_model else {}
    if what == HEADS:
        title, made_by = f"Decoding heads of {origin.name}", "`python -m probing train-heads`"
        data = ModelCardData(datasets=list(texts) or None, library_name="bertnesia-explorer", **usual).to_yaml()
    else:
        kinds = kinds_of(what)
        title = f"{' and '.join(kind.title for kind in kinds).capitalize()} of {origin.name}"
        abouts = ((kind.about or "").strip().partition("\n\n")[0].replace("``", "`") for kind in kinds)
        about = "\n\n".join(dict.fromkeys(abouts))
        made_by = " and ".join(f"`python -m probing {kind.command}`" for kind in kinds)
        sizes: dict[str, int] = {}
        for path in folder.rglob("*.parquet"):
            sizes[str(table_of(path))] = sizes.get(str(table_of(path)), 0) + path.stat().st_size
        configs = [
            {"config_name": table, "data_files": f"data/{table}-*.parquet"}
            for table in sorted(sizes, key=lambda table: (-sizes[table], table))[:_TABLES]
        ]
        data = DatasetCardData(pretty_name=title, configs=configs, **usual).to_yaml()
    of_tasks = "; ".join(f"{task}: {of_task}" for task, of_task in sorted(licences.items()))
    more = [f"- and {len(lines) - _LINES:,} more"] if len(lines) > _LINES else []
    return "\n".join(
        [
            f"---\n{data}\n---\n",
            f"# {title}\n",
            f"{about}\n",
            f"- Licence: {licence}" + (f"; of the tasks' data: {of_tasks}" if of_tasks else ""),
            f"- {'Encoder' if what == HEADS else 'Model'}: {origin.line}",
            *(f"- Base: {base.replace('@', ', revision `')}`" for base in origin.bases[:_TABLES]),
            f"{MADE_BY} {__version__}, {made_by}",
            f"- Download and check: `python -m probing pull {where}`",
            "- Meaning of the columns: `python -m probing tables`\n" if what != HEADS else "",
            *(f"- {line}" for line in lines[:_LINES]),
            *more,
            "",
        ]
    )
