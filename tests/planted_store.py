"""A planted store: rows made here, with ranks that a test can count by hand. Other tests may use it too."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from probing.facts.swapped_subjects import WITHOUT_THE_ANSWER, swapped_subjects
from probing.kernel.fact import Fact, fill
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.store.kinds import FACTS, KINDS
from probing.kernel.store.opening import counted, write_counts
from probing.kernel.store.parquet import as_stored, write_table

TOKENIZER = "planted"
#: Tokens of no fact, so that there are as many as ranks.
UNUSED = tuple(f"[unused{number}]" for number in range(1000))
TOKENS = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "philadelphia",
    "paris",
    "berlin",
    "rome",
    "french",
    "german",
    "hot",
    "water",
    "music",
    "bank",
    "##s",
    ".",
    "born",
)
_TEMPLATES = {
    "P19": "[X] was born in [Y] .",
    "P103": "The native language of [X] is [Y] .",
    "P36": "The capital of [X] is [Y] .",
}
_LABELS = {"P19": ("place of birth", "N-1"), "P103": ("native language", "N-1"), "P36": ("capital", "1-1")}
_TREX = (
    ("P19", "Rocky Balboa", "philadelphia", "unseen"),
    ("P19", "Zoë Müller", "paris", "stated"),
    ("P19", "Jean O'Neil", "paris", "stated"),
    ("P19", "Paris Hilton 100%", "paris", "evidence"),
    ("P103", "Victor Hugo", "french", "stated"),
    ("P103", "Johann Wolfgang", "german", "held out"),
    ("P103", "Emile [Zola] <b>", "french", None),
    ("P36", "Germany", "berlin", "stated"),
    ("P36", "Italy", "rome", "unseen"),
    ("P36", "France", "paris", None),
)
_COMMON_SENSE = (("common sense", "The sun is [MASK] .", "hot"), ("common sense", "Fish swim in [MASK] .", "water"))
_QUESTIONS = (
    ("questions", "Who plays in a band ? They make [MASK] .", "music"),
    ("questions", "Where is money kept ? In a [MASK] .", "bank"),
)


#: Questions most of whose facts share them with others.
SEVERAL_ANSWERS = tuple(
    Fact("trex", "P47", subject, answer, "[X] borders [Y] .", f"{subject} borders [MASK] .")
    for subject, answers in (("A", "paris berlin"), ("B", "rome french"), ("C", "german"), ("D", "hot paris"))
    for answer in answers.split()
)


@dataclass(frozen=True)
class PlantedRun:
    """One run to plant. ``rank`` gives the gold rank of the number-th fact at a layer.

    ``facts`` replaces the probe set's own, ``top`` gives the id of the token that is put first if the right answer is
    not; ``last_only`` stores the last layer only, as replicates may; ``made`` holds further parts of the configuration;
    without ``swapped`` there are no swapped subjects, as in compact runs; ``version`` is that of the program.
    """

    model: str = "nesia-mini"
    head: str = "tied"
    probe_set: str = "trex"
    base: str = ""
    layers: int = 4
    seed: int = 0
    role: str = "primary"
    template_set: str = "default"
    objective: str = "masked language modelling"
    rank: Callable[[int, int], int] = field(default=lambda number, layer: planted_rank(number, layer))
    facts: tuple[Fact, ...] | None = None
    top: Callable[[int, int], int] | None = None
    last_only: bool = False
    made: tuple[tuple[str, str], ...] = ()
    swapped: bool = True
    version: str = "planted"

    @property
    def asked(self) -> list[Fact]:
        """Its facts in the order of their numbers."""
        return planted_facts(self.probe_set) if self.facts is None else list(self.facts)

    @property
    def config(self) -> str:
        """Canonical JSON of what the fingerprint is made of."""
        parts = {
            "model": self.model,
            "head": "lens" if self.head == LOGIT_LENS else self.head,
            "probe_set": self.probe_set,
            "seed": self.seed,
            "template_set": self.template_set,
        } | dict(self.made)
        if self.swapped:
            parts["lenders"] = WITHOUT_THE_ANSWER
        return json.dumps(parts, sort_keys=True, separators=(",", ":"))

    @property
    def run_id(self) -> str:
        """Fingerprint of the run."""
        return hashlib.sha256(self.config.encode()).hexdigest()[:16]


def planted_rank(number: int, layer: int) -> int:
    """Ranks between 1 and 300: knowledge rises through the layers, every fourth fact is lost at layer 3."""
    if number % 4 == 0 and layer == 3:
        return 26
    return max(1, (number * 37 + 11) % 300 // (1 + layer * layer * 9))


def planted_facts(probe_set: str) -> list[Fact]:
    """The facts of a probe set in the order in which ``PlantedRun.rank`` numbers them from 0."""
    if probe_set == "trex":
        return [
            Fact("trex", relation, subject, answer, _TEMPLATES[relation], fill(_TEMPLATES[relation], subject))
            for relation, subject, answer, _ in _TREX
        ]
    rows = {"common_sense": _COMMON_SENSE, "questions": _QUESTIONS}[probe_set]
    return [Fact(probe_set, relation, "", answer, prompt, prompt) for relation, prompt, answer in rows]


def planted_exposure() -> dict[str, str]:
    """``relation\\tsubject\\tobject`` -> exposure to nesia-mini's text; facts without one are unknown."""
    return {f"{relation}\t{subject}\t{answer}": exposure for relation, subject, answer, exposure in _TREX if exposure}


def prediction_rows(run: PlantedRun) -> list[dict[str, Any]]:
    """The rows of ``predictions`` of a run, by layer, relation and fact."""
    rows, run_id, asked = [], run.run_id, run.asked
    swapped = swapped_subjects(asked) if run.probe_set == "trex" and run.swapped else [None] * len(asked)
    for layer in range(run.layers - 1 if run.last_only else 0, run.layers):
        for number, fact in enumerate(asked):
            rank, gold = run.rank(number, layer), TOKENS.index(fact.object)
            others = [i for i in range(5, len(TOKENS)) if i != gold]
            top = [*others[: rank - 1], gold, *others[rank - 1 :]] if rank <= 10 else others
            if run.top is not None and rank > 1:
                top = [run.top(number, layer), *top]
            logps = [-0.5 - 0.25 * place for place in range(10)]
            rows.append(
                {
                    "run_id": run_id,
                    "fact_id": fact.fact_id,
                    "layer": layer,
                    "gold_rank": rank,
                    "answer_rank": 1 + (rank - 1) % 3,
                    "other_rank": None if swapped[number] is None else rank + 5 * (number % 3),
                    "gold_logp": -0.25 - 0.25 * rank,
                    "top_ids": top[:10],
                    "top_logp": logps,
                }
            )
    return rows


def run_row(run: PlantedRun) -> dict[str, Any]:
    """The row of ``runs``: one fact was left out."""
    n = len(run.asked)
    return {
        "run_id": run.run_id,
        "model": run.model,
        "model_revision": "planted",
        "base": run.base,
        "objective": run.objective,
        "head": run.head,
        "seed": run.seed,
        "role": run.role,
        "template_set": run.template_set,
        "top_k": 10,
        "probe_set": run.probe_set,
        "layers": run.layers,
        "n_read": n + 1,
        "n_probed": n,
        "left_out": json.dumps({"object is several tokens": 1}),
        "tokenizer": TOKENIZER,
        "dtype": "float32",
        "device": "cpu",
        "code_version": run.version,
        "created": "2026-01-01T00:00:00Z",
        "config": run.config,
    }


def token_rows(tokens: Sequence[str], tokenizer: str = TOKENIZER) -> list[dict[str, Any]]:
    """The rows of ``vocabulary`` of these tokens of WordPiece, by id."""
    return [
        {"tokenizer": tokenizer, "id": number, "token": token, "text": token, "starts_word": not token.startswith("##")}
        for number, token in enumerate(tokens)
    ]


EMPTY: tuple[PlantedRun, ...] = ()
ONE_MODEL = (PlantedRun(),)
SEVERAL = tuple(
    PlantedRun(model=model, head=head, probe_set=probe_set, base=base, layers=layers)
    for model, base, layers in (("nesia-mini", "", 4), ("nesia-mini-qa", "nesia-mini", 4), ("other-bert", "", 7))
    for head in ("tied", "logit_lens")
    for probe_set in ("trex", "common_sense", "questions")
)
VARIANTS = {"empty": EMPTY, "one model": ONE_MODEL, "several": SEVERAL}


def plant_runs(folder: Path, runs: Sequence[PlantedRun] = ONE_MODEL, exposure: Mapping[str, str] | None = None) -> Path:
    """Writes the Parquet files of the runs below ``folder`` and returns it; no run leaves an empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for run in runs:
        write_table("predictions", prediction_rows(run), folder / run.run_id / f"predictions-{run.run_id}.parquet")
        write_table("runs", [run_row(run)], folder / run.run_id / f"runs-{run.run_id}.parquet")
    for probe_set in {run.probe_set for run in runs}:
        facts = list(dict.fromkeys(fact for run in runs if run.probe_set == probe_set for fact in run.asked))
        write_table("facts", fact_rows(facts), folder / f"facts-{probe_set}.parquet")
    if runs:
        write_table("vocabulary", token_rows((*TOKENS, *UNUSED)), folder / f"vocabulary-{TOKENIZER}.parquet")
        exposure = planted_exposure() if exposure is None else exposure
        rows_of_exposure = {
            "model": ["nesia-mini"] * len(exposure),
            "fact_key": list(exposure),
            "exposure": list(exposure.values()),
        }
        write_table("exposure", rows_of_exposure, folder / "exposure-nesia-mini.parquet")
        relations = [
            {"relation": name, "probe_set": "trex", "label": label, "cardinality": kind}
            for name, (label, kind) in _LABELS.items()
        ]
        write_table("relations", relations, folder / "relations.parquet")
        for run in runs:
            for table, counts in _counts(run, tuple(exposure.items())).items():
                write_table(table, counts, folder / run.run_id / f"{table}-{run.run_id}.parquet")
    return folder


@cache
def _counts(run: PlantedRun, exposure: tuple[tuple[str, str], ...]) -> dict[str, pa.Table]:
    """What is counted of a planted run, once for all tests."""
    rows = {
        "runs": [run_row(run)],
        "predictions": prediction_rows(run),
        "facts": fact_rows(run.asked),
        "vocabulary": token_rows((*TOKENS, *UNUSED)),
        "exposure": [{"model": "nesia-mini", "fact_key": key, "exposure": kind} for key, kind in exposure],
    }
    return counted(KINDS[FACTS], {table: as_stored(table, found) for table, found in rows.items()})


def fact_rows(facts: Sequence[Fact]) -> list[dict[str, Any]]:
    columns = [
        "fact_id",
        "probe_set",
        "relation",
        "subject",
        "object",
        "prompt",
        "template",
        "answer_in_subject",
        "pred",
    ]
    return [{name: getattr(fact, name) for name in columns} | {"template_set": "default"} for fact in facts]


def count(folder: Path, run: PlantedRun) -> None:
    """Stores what is counted of a planted run whose files a test has changed."""
    write_counts(KINDS[FACTS], run_row(run), folder / run.run_id, [folder])


def forget_predictions(folder: Path, run: PlantedRun) -> None:
    """Leaves of a planted run only the counts that the snapshot has of runs without predictions."""
    for table in ("predictions", "known", "answer_counts", "answer_clusters"):
        (folder / run.run_id / f"{table}-{run.run_id}.parquet").unlink(missing_ok=True)


def plant_store(
    folder: Path, runs: Sequence[PlantedRun] | str = ONE_MODEL, exposure: Mapping[str, str] | None = None
) -> Path:
    """Plants runs (or a name of ``VARIANTS``) in ``folder / "runs"``, which it returns."""
    return plant_runs(folder / "runs", VARIANTS[runs] if isinstance(runs, str) else runs, exposure)
