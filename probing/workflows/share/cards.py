"""The cards that go with shared heads, predictions and edge probing: whose, how made, how good, how to take them."""

import json
from collections.abc import Mapping, Sequence

from probing import __version__
from probing.core.facts.fact import PROBE_SETS
from probing.core.head_kinds import LOGIT_LENS
from probing.core.registry import ModelEntry
from probing.store.schema import SCHEMAS
from probing.workflows.share.heads import HeadSet

#: What ``prediction`` columns mean, for readers of the data set.
COLUMNS = {
    "run_id": "fingerprint of the run's configuration",
    "fact_id": "fingerprint of the fact; `facts` has its text",
    "layer": "0 is the embeddings, then the transformer layers",
    "gold_rank": "rank of the right answer in the whole vocabulary, from 1; ties take the worst place",
    "answer_rank": "rank of the right answer among the answers of its relation, from 1",
    "other_rank": "rank of the same answer with a swapped subject (`lenders`, where it is there, names it); empty where there is none",
    "gold_logp": "natural logarithm of the right answer's probability",
    "top_ids": "vocabulary ids of the best tokens, best first; `vocabulary` has the tokens",
    "top_logp": "natural logarithms of their probabilities",
}
#: Licences that the hub has a name for; every other is ``other`` there, and the card's text says which.
HUB_LICENCES = ("apache-2.0", "mit", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc0-1.0", "unknown", "other")


def hub_licence(licence: str) -> str:
    """A licence as the hub writes it."""
    written = licence.lower().replace(" ", "-")
    return written if written in HUB_LICENCES else "other"


def heads_card(
    entry: ModelEntry, weights: str, sets: Sequence[HeadSet], datasets: Sequence[str], language: str, licence: str, where: str
) -> str:
    """The card of a model repository with decoding heads."""
    from huggingface_hub import ModelCardData

    data = ModelCardData(
        base_model=entry.source if _is_hub_id(entry) else None,
        datasets=list(datasets) or None,
        language=language,
        library_name="bertnesia-explorer",
        license=hub_licence(licence),
        tags=["decoding-heads", "probing", "masked-language-modelling", "interpretability"],
    )
    lines = [
        f"# Decoding heads of {entry.name}, one for every layer", "",
        "A decoding head turns a layer's hidden state at the mask into a distribution over the vocabulary. The encoder stays as it "
        "is; only the heads were trained, by masked language modelling, as in *BERTnesia* (Wallat, Singh and Anand, 2020).", "",
        "| | |", "|---|---|",
        f"| Encoder | {entry.name}{f', revision `{entry.revision}`' if entry.revision else ''} |",
        f"| Weights of the encoder, sha256 | `{weights}` |",
        f"| Licence | {licence} |",
        f"| Text | {', '.join(datasets) or 'not named; its sha256 is in the recipe'} |",
        f"| Made by | BERTnesia Explorer {__version__}, `python -m probing train-heads` |", "",
        "Take them, checked file by file against `manifest.json`:", "", "```", f"python -m probing pull {where}", "```", "",
    ]  # fmt: skip
    for heads in sets:
        of = "all layers" if heads.seed == 0 else f"the last layer, replicate with seed {heads.seed}"
        recipe = json.dumps(heads.recipe, indent=1, sort_keys=True)
        lines += [f"## `{heads.kind}` heads of {of}", "", "Recipe:", "", "```json", recipe, "```", ""]
        lines += ["Validation loss in nats (mean cross-entropy at masked positions):", "", *_losses(heads), ""]
    return f"---\n{data.to_yaml()}\n---\n\n" + "\n".join(lines)


def _losses(heads: HeadSet) -> list[str]:
    """The validation losses of a set of heads by layer; those of logit lens and map too, where a layer was tried with both."""
    tried = any("map" in row for row in heads.losses)
    random = heads.recipe.get("start") == "random"
    ways = ["by logit lens", "by least-squares map"] if tried else [] if random else ["by logit lens"]
    names = ["layer", *ways, "at the start", "final", "at step"]
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for row in heads.losses:
        # A head that was not tried behind the map started as the pre-trained one, unless at random.
        lens = row.get(LOGIT_LENS, None if random else row["start"])
        values = [*(lens, row.get("map"))[: len(ways)], row["start"], row["best"]]
        shown = ["" if value is None else f"{value:.3f}" for value in values]
        lines.append(f"| {' | '.join([str(row['layer']), *shown, str(row['best_step'])])} |")
    if some := sorted({row["positions"] for row in heads.losses if "positions" in row}):
        first = f"the first {' or '.join(f'{n:,}' for n in some)} validation positions"
        lines += ["", f"Where logit lens and map both have a value, they were compared on {first}; start and final are of all of them."]
    return lines


def predictions_card(entry: ModelEntry, runs: Sequence[dict], tables: Sequence[str], language: str, licence: str, where: str) -> str:
    """The card of a data set repository with the predictions of every layer.

    Args:
        entry: the model.
        runs: rows of ``runs``.
        tables: the tables that are there, ``predictions`` first.
        language: of the facts.
        licence: of the data set.
        where: what ``pull`` takes.
    """
    from huggingface_hub import DatasetCardData

    configs = [{"config_name": table, "data_files": f"data/{table}-*.parquet"} | ({"default": True} if table == "predictions" else {})
               for table in tables]  # fmt: skip
    data = DatasetCardData(
        language=language,
        license=hub_licence(licence),
        pretty_name=f"What every layer of {entry.name} predicts",
        size_categories=_size(sum(run["n_probed"] * run["layers"] for run in runs)),
        tags=["probing", "masked-language-modelling", "factual-knowledge", "interpretability"],
        configs=configs,
    )
    lines = [
        f"# What every layer of {entry.name} predicts", "",
        "Each fact was asked as a cloze at every layer; a row says where the right answer ranked and which tokens were best.", "",
        f"| Licence | {licence} |", "|---|---|",
        f"| Model | {entry.name}{f', {entry.source}, revision `{entry.revision}`' if entry.revision else ''} |",
        f"| Made by | BERTnesia Explorer {__version__}, `python -m probing probe` |", "",
        "Take them, checked file by file against `manifest.json`:", "", "```", f"python -m probing pull {where}", "```", "",
        "## Runs", "",
        "A run's name is the first 16 hex digits of sha256 over its configuration, the column `config` of `runs`. Facts that the "
        "vocabulary cannot answer in one token, and doubles, are left out and counted by reason.", "",
        "| run | facts | templates | head | seed | facts read | probed | left out | layers | best tokens kept |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for run in runs:
        left = ", ".join(f"{count:,} {reason}" for reason, count in sorted(json.loads(run["left_out"] or "{}").items())) or "none"
        shown = [f"`{run['run_id']}`", PROBE_SETS.get(run["probe_set"], run["probe_set"]), run["template_set"], run["head"], run["seed"]]
        shown += [f"{run['n_read']:,}", f"{run['n_probed']:,}", left, run["layers"], run["top_k"]]
        lines.append(f"| {' | '.join(map(str, shown))} |")
    lines += ["", "## Columns of `predictions`", "", "| column | what it says |", "|---|---|"]
    lines += [f"| `{name}` | {COLUMNS[name]} |" for name in SCHEMAS["predictions"].names]
    lines += ["", "## Other tables", "", "| table | columns |", "|---|---|"]
    lines += [f"| `{table}` | {', '.join(f'`{name}`' for name in SCHEMAS[table].names)} |" for table in tables if table != "predictions"]
    return f"---\n{data.to_yaml()}\n---\n\n" + "\n".join(lines) + "\n"


def edges_card(
    entry: ModelEntry, runs: Sequence[dict], tables: Sequence[str], licences: Mapping[str, str], language: str, licence: str, where: str
) -> str:
    """The card of a data set repository with runs of edge probing.

    Args:
        entry: the model.
        runs: rows of ``edge_runs``.
        tables: the tables that are there.
        licences: task -> licence of its data.
        language: of the tasks' text.
        licence: of the data set.
        where: what ``pull`` takes.
    """
    from huggingface_hub import DatasetCardData

    configs = [{"config_name": table, "data_files": f"data/{table}-*.parquet"} | ({"default": True} if table == "edge_scores" else {})
               for table in tables]  # fmt: skip
    data = DatasetCardData(
        language=language,
        license=hub_licence(licence),
        pretty_name=f"Edge probing of every layer of {entry.name}",
        tags=["probing", "edge-probing", "interpretability"],
        configs=configs,
    )
    lines = [
        f"# Edge probing of every layer of {entry.name}", "",
        "Probes read labels of spans of words from frozen layers (Tenney et al. 2019): true and false positives and negatives by layer and "
        "label, mixing weights, code lengths, and the answers to single targets where they are stored.", "",
        f"| Licence | {licence} |", "|---|---|",
        f"| Model | {entry.name}{f', {entry.source}, revision `{entry.revision}`' if entry.revision else ''} |",
        f"| Made by | BERTnesia Explorer {__version__}, `python -m probing edges train` |", "",
        "Take them, checked file by file against `manifest.json`:", "", "```", f"python -m probing pull {where}", "```", "",
        "## Data of the tasks", "",
        "Sentences whose licence does not let their words be published are named by the sha256 of their text.", "",
        "| task | licence |", "|---|---|",
        *(f"| {task} | {said} |" for task, said in licences.items()), "",
        "## Runs", "",
        "A run's name is the first 16 hex digits of sha256 over its configuration, the column `config` of `edge_runs`.", "",
        "| run | task | probes | encoder | labels | seed | layers | width |", "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    names = ("task", "kind", "encoder", "labels", "seed", "layers", "width")
    lines += [f"| `{run['run_id']}` | {' | '.join(str(run[name]) for name in names)} |" for run in runs]
    lines += ["", "## Tables", "", "| table | columns |", "|---|---|"]
    lines += [f"| `{table}` | {', '.join(f'`{name}`' for name in SCHEMAS[table].names)} |" for table in tables]
    return f"---\n{data.to_yaml()}\n---\n\n" + "\n".join(lines) + "\n"


def sentences_card(
    entry: ModelEntry, runs: Sequence[dict], tables: Sequence[str], licences: Mapping[str, str], language: str, licence: str, where: str
) -> str:
    """The card of a data set repository with runs of sentence-level probing and of what fine-tuning changed.

    Args:
        entry: the model.
        runs: rows of ``sentence_runs`` and ``change_runs``.
        tables: the tables that are there.
        licences: task -> licence of its data.
        language: of the tasks' text.
        licence: of the data set.
        where: what ``pull`` takes.
    """
    from huggingface_hub import DatasetCardData

    first = "sentence_scores" if "sentence_scores" in tables else "change_values"
    configs = [{"config_name": table, "data_files": f"data/{table}-*.parquet"} | ({"default": True} if table == first else {})
               for table in tables]  # fmt: skip
    data = DatasetCardData(
        language=language,
        license=hub_licence(licence),
        pretty_name=f"Sentence-level probing of every layer of {entry.name}",
        tags=["probing", "sentence-probing", "fine-tuning", "interpretability"],
        configs=configs,
    )
    lines = [
        f"# Sentence-level probing of every layer of {entry.name}", "",
        "Logistic regressions read a label of the whole sentence from frozen layers, before and after fine-tuning (Mosbach et al. 2020): "
        "test sentences that are right by layer, pooling and reading, pairs of probes on the same sentences, and attention, similarity and "
        "perplexity where they are stored.", "",
        f"| Licence | {licence} |", "|---|---|",
        f"| Model | {entry.name}{f', {entry.source}, revision `{entry.revision}`' if entry.revision else ''} |",
        f"| Made by | BERTnesia Explorer {__version__}, `python -m probing sentences train` and `changes measure` |", "",
        "Take them, checked file by file against `manifest.json`:", "", "```", f"python -m probing pull {where}", "```", "",
        "## Data of the tasks", "",
        "Sentences whose licence does not let their words be published, and those of a user's own files, are named by a hash of their "
        "text.", "",
        "| task | licence |", "|---|---|",
        *(f"| {task} | {said} |" for task, said in licences.items()), "",
        "## Runs", "",
        "A run's name is the first 16 hex digits of sha256 over its configuration, the column `config`.", "",
        "| run | task | protocol | seed | layers | width |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for run in runs:
        shown = [run.get("task", "what fine-tuning changed"), run.get("protocol", ""), *(run[name] for name in ("seed", "layers", "width"))]
        lines.append(f"| `{run['run_id']}` | {' | '.join(map(str, shown))} |")
    lines += ["", "## Tables", "", "| table | columns |", "|---|---|"]
    lines += [f"| `{table}` | {', '.join(f'`{name}`' for name in SCHEMAS[table].names)} |" for table in tables]
    return f"---\n{data.to_yaml()}\n---\n\n" + "\n".join(lines) + "\n"


def _is_hub_id(entry: ModelEntry) -> bool:
    return not entry.shipped and entry.source.count("/") == 1 and not entry.source.startswith((".", "/", "~"))


def _size(rows: int) -> str:
    for limit, name in ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M")):
        if rows < limit:
            return name
    return "10M<n<100M" if rows < 10**8 else "100M<n<1B"
