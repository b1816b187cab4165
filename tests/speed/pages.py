"""Times of pages and of their queries with ten million made-up predictions, and memory of the app."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from probing.facts import store as run_queries
from probing.facts import store_facts as fact_queries
from probing.facts import store_pairs as pair_queries
from probing.facts.counts import count_facts
from probing.kernel.errors import ProbingError
from probing.kernel.fact import PROBE_SETS, Fact, fill, shipped_relations
from probing.kernel.files import cache_folder
from probing.kernel.models.names import HEADS as KINDS
from probing.kernel.registry import REPOSITORY
from probing.kernel.store.database import Database
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import as_stored, read_table, write_table
from probing.kernel.store.stored import fact_runs
from tests.speed.measurement import Measurement, seconds_of

#: Classes of the first three kinds only, so that the number of rows stays the same.
HEADS = KINDS[:3]
#: Increased when the drawn rows change, so that older files are made again.
MAKE = 2
BASE = "bert-base-uncased"
OBJECTIVES = ("QA-SQuAD-1", "QA-SQuAD-2", "MLM-SQuAD", "RANK-MSMARCO", "MLM-MSMARCO", "NER-CoNLL")
#: Layer 0 and 12 transformer layers.
LAYERS = 13
TOKENS = 30_522
TOKENIZER = "generated-30522"
#: Probe set -> share of the facts; the sets with templates take the relations that ship.
_SETS = {"trex": 0.84, "google_re": 0.15, "common_sense": 0.006, "questions": 0.004}
_ANSWERS_A_RELATION = 40
_EXPOSURES = ("stated", "evidence", "held out", "unseen")


@dataclass(frozen=True)
class Size:
    """How large a store is.

    Attributes:
        facts: facts of all probe sets; every run set asks all of them.
        top_k: tokens that are stored for each fact and layer.
    """

    facts: int = 37_000
    top_k: int = 10

    @property
    def rows(self) -> int:
        """Rows of ``predictions``: 7 models x 3 heads x facts x 13 layers."""
        return (1 + len(OBJECTIVES)) * len(HEADS) * self.facts * LAYERS

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"store-{self.facts}-{self.top_k}"


#: 10,101,000 predictions with ten tokens each.
TEN_MILLION = Size()


@dataclass(frozen=True)
class _Run:
    model: str
    base: str
    objective: str
    head: str
    probe_set: str
    config: str

    @property
    def run_id(self) -> str:
        return hashlib.sha256(self.config.encode()).hexdigest()[:16]


def make_store(folder: Path, size: Size = TEN_MILLION, progress: Callable[[str], None] | None = None) -> Path:
    """The folder of results of a size below ``folder``, made once.

    Args:
        folder: where stores lie, such as ``cache/bench``.
        size: how large it is.
        progress: called with a description of each step.
    """
    place = folder / size.name
    done, content = place / "made.json", {"make": MAKE, **asdict(size)}
    if not done.is_file() or json.loads(done.read_text(encoding="utf-8")) != content:
        shutil.rmtree(place, ignore_errors=True)
        _write(place / "snapshot", size, progress or (lambda what: None))
        done.write_text(json.dumps(content), encoding="utf-8")
    return place / "snapshot"


def _write(folder: Path, size: Size, say: Callable[[str], None]) -> None:
    facts, answers = make_facts(size.facts)
    for probe_set in _SETS:
        mine = [fact for fact in facts if fact.probe_set == probe_set]
        write_table("facts", [_fact_row(fact) for fact in mine], folder / f"facts-{probe_set}.parquet")
    relations = shipped_relations().values()
    rows = [
        {"relation": one.name, "probe_set": one.probe_set, "label": one.label, "cardinality": one.cardinality}
        for one in relations
    ]
    write_table("relations", rows, folder / "relations.parquet")
    words = [token(number) for number in range(TOKENS)]
    tokens = {
        "tokenizer": [TOKENIZER] * TOKENS,
        "id": list(range(TOKENS)),
        "token": words,
        "text": words,
        "starts_word": [not word.startswith("##") for word in words],
    }
    write_table("vocabulary", tokens, folder / "vocabulary.parquet")
    exposure = np.random.default_rng(0).choice(len(_EXPOSURES), len(facts), p=(0.3, 0.3, 0.1, 0.3))
    keys = {
        f"{fact.relation}\t{fact.subject}\t{fact.object}": _EXPOSURES[n]
        for fact, n in zip(facts, exposure, strict=True)
    }
    said = {"model": [BASE] * len(keys), "fact_key": list(keys), "exposure": list(keys.values())}
    write_table("exposure", said, folder / "exposure.parquet")
    hardness = np.random.default_rng(1).normal(0, 2.2, len(facts)).astype(np.float32)
    ids = pa.array([fact.fact_id for fact in facts])
    places = {name: np.flatnonzero([fact.probe_set == name for fact in facts]) for name in _SETS}
    runs = _runs(size)
    beside = {table: read_table(folder / f"{table}.parquet", table) for table in ("vocabulary", "exposure")}
    of_set = {probe_set: read_table(folder / f"facts-{probe_set}.parquet", "facts") for probe_set in _SETS}
    counts: dict[str, list[pa.Table]] = {}
    for number, run in enumerate(runs):
        say(f"writing run {number + 1} of {len(runs)}")
        own = places[run.probe_set]
        table = _predictions(run, number, ids.take(pa.array(own)), hardness[own], answers[own], size.top_k)
        write_table("predictions", table, folder / f"predictions-{run.run_id}.parquet")
        row = as_stored("runs", [_run_row(run, len(own), size.top_k)])
        counted = count_facts(
            beside | {"facts": of_set[run.probe_set], "runs": row, "predictions": as_stored("predictions", table)}
        )
        write_table("known", counted.pop("known"), folder / f"known-{run.run_id}.parquet")
        for name, rows in counted.items():
            counts.setdefault(name, []).append(rows)
    for name, parts in counts.items():
        write_table(name, pa.concat_tables(parts), folder / f"{name}.parquet")
    write_table(
        "runs", [_run_row(run, len(places[run.probe_set]), size.top_k) for run in runs], folder / "runs.parquet"
    )
    _write_training(folder, runs)


def make_facts(count: int) -> tuple[list[Fact], np.ndarray]:
    """Made-up facts about made-up subjects in the shipped relations' own words, and (facts,) ids of their answers."""
    rng = np.random.default_rng(2)
    relations = list(shipped_relations().values())
    facts, answers = [], []
    for probe_set, share in _SETS.items():
        own = [one for one in relations if one.probe_set == probe_set]
        for number in range(round(share * count)):
            place = number % len(own) if own else 0
            answer = 1000 + 50 * place + int(_ANSWERS_A_RELATION * rng.random() ** 2)
            if own:
                template = own[place].templates["default"]
                # One in eight is a copy, as in T-REx.
                first = token(answer if number % 8 == 0 else 5000 + number % 20000)
                subject = f"{first} of {token(3000 + number // 40)} {number}"
                fact = Fact(probe_set, own[place].name, subject, token(answer), template, fill(template, subject))
            else:
                prompt = f"Every {token(5000 + number)} is a {token(7000 + number)} [MASK]."
                fact = Fact(probe_set, probe_set.rstrip("s").replace("_", " "), "", token(answer), prompt, prompt)
            facts.append(fact)
            answers.append(answer)
    return facts, np.array(answers, dtype=np.uint32)


def token(number: int) -> str:
    """A made-up token: every seventh is a sub-word, the first hundred are punctuation and digits."""
    if number < 100:
        return chr(33 + number % 15) * (1 + number // 15)
    letters, word = number, ""
    while letters:
        letters, place = divmod(letters, 70)
        word += "bdfgklmnprstvz"[place // 5] + "aeiou"[place % 5]
    return f"##{word}" if number % 7 == 6 and number >= 20_000 else word


def _runs(size: Size) -> list[_Run]:
    found = []
    for objective in ("", *OBJECTIVES):
        model = f"{BASE}-{objective.lower()}" if objective else BASE
        for head in HEADS:
            for probe_set in _SETS:
                recipe = json.dumps({"kind": head, "seed": 0}, sort_keys=True)
                config = {
                    "model": model,
                    "head": head,
                    "probe_set": probe_set,
                    "head_recipe": recipe,
                    "weights": f"made up {model}",
                    "facts_sha256": f"made up {size.facts} {probe_set}",
                    "make": MAKE,
                    "top_k": size.top_k,
                }
                text = json.dumps(config, sort_keys=True, separators=(",", ":"))
                found.append(_Run(model, BASE if objective else "", objective or "pre-training", head, probe_set, text))
    return found


def _predictions(
    run: _Run, number: int, ids: pa.Array, hardness: np.ndarray, answers: np.ndarray, top_k: int
) -> pa.Table:
    """The rows of a run, by fact and layer."""
    rng = np.random.default_rng((3, number))
    n = len(ids)
    depth = np.linspace(0, 1, LAYERS, dtype=np.float32)
    # The mean of ln(rank) falls from 8 at the embeddings to 2.5; a fine-tuned model's rises again at the end.
    level = 8 - 5.5 * depth**1.5 - {"tied": 0.0, "logit_lens": -0.6, "full": 0.3}[run.head] * depth
    if run.base:
        level = level + np.maximum(depth - 0.7, 0) * (2.0 + OBJECTIVES.index(run.objective))
    log_rank = level + hardness[:, None] * (0.3 + 0.7 * depth) + rng.normal(0, 0.7, (n, LAYERS)).astype(np.float32)
    rank = np.clip(np.exp(log_rank), 1, TOKENS).astype(np.uint32)
    other = np.clip(np.exp(log_rank + 2), 1, TOKENS).astype(np.uint32)
    logp = -np.round(64 * (0.3 + np.maximum(log_rank, 0) * 0.9)) / 64
    # Early layers predict any token, late ones an answer of the relation, if the answer's neighbours are answers.
    start = rng.integers(100, TOKENS, (n, LAYERS), dtype=np.uint32)
    near = rng.random((n, LAYERS), dtype=np.float32) < 0.2 + 0.6 * depth
    start = np.where(near, answers[:, None] // 50 * 50 + start % _ANSWERS_A_RELATION, start)
    top = (start[..., None] + np.arange(top_k, dtype=np.uint32) * (1 + start[..., None] % 7)) % TOKENS
    shown = np.nonzero(rank <= top_k)
    top[(*shown, rank[shown] - 1)] = np.broadcast_to(answers[:, None], rank.shape)[shown]
    steps = rng.integers(4, 60, (n, LAYERS, top_k), dtype=np.uint8).cumsum(axis=2, dtype=np.float32) / 64
    lists = pa.array(np.arange(0, n * LAYERS * top_k + 1, top_k, dtype=np.int32))
    has_other = run.probe_set in ("trex", "google_re")
    return pa.table(
        {
            "run_id": pa.DictionaryArray.from_arrays(
                pa.array(np.zeros(n * LAYERS, np.int8)), pa.array([run.run_id])
            ).cast(pa.string()),
            "fact_id": ids.take(pa.array(np.repeat(np.arange(n), LAYERS))),
            "layer": np.tile(np.arange(LAYERS, dtype=np.uint8), n),
            "gold_rank": rank.ravel(),
            "answer_rank": (1 + rank.ravel() // 60).astype(np.uint32),
            "other_rank": pa.array(other.ravel(), mask=np.full(n * LAYERS, not has_other)),
            "gold_logp": logp.ravel().astype(np.float32),
            "top_ids": pa.ListArray.from_arrays(lists, pa.array(top.ravel())),
            "top_logp": pa.ListArray.from_arrays(lists, pa.array(-steps.ravel())),
        }
    )


def _fact_row(fact: Fact) -> dict:
    names = ("fact_id", "probe_set", "relation", "subject", "object", "prompt", "template", "answer_in_subject", "pred")
    return {name: getattr(fact, name) for name in names} | {"template_set": "default"}


def _run_row(run: _Run, n: int, top_k: int) -> dict:
    assert run.probe_set in PROBE_SETS
    return {
        "run_id": run.run_id,
        "model": run.model,
        "model_revision": "made up",
        "base": run.base,
        "objective": run.objective,
        "head": run.head,
        "seed": 0,
        "role": "primary",
        "template_set": "default",
        "top_k": top_k,
        "probe_set": run.probe_set,
        "layers": LAYERS,
        "n_read": n,
        "n_probed": n,
        "left_out": "{}",
        "tokenizer": TOKENIZER,
        "dtype": "float32",
        "device": "none",
        "code_version": "made up",
        "created": "2026-01-01T00:00:00+00:00",
        "config": run.config,
    }


def _write_training(folder: Path, runs: list[_Run]) -> None:
    """What fine-tuning changed, model by model."""
    tuned = list({run.model: run for run in runs if run.base}.values())
    drift = [
        {
            "model": run.model,
            "base": run.base,
            "layer": layer,
            "drift": 0.01 * (1 + layer) * (1 + number % 6),
            "parameters": 7_087_872,
        }
        for number, run in enumerate(tuned)
        for layer in range(LAYERS)
    ]
    write_table("weight_drift", drift, folder / "weight_drift.parquet")
    tasks = [
        {
            "model": run.model,
            "base": run.base,
            "objective": run.objective,
            "metric": "F1",
            "value": 0.8,
            "chance": 0.1,
            "chance_name": "most frequent answer",
            "n": 1000,
        }
        for run in tuned
    ]
    write_table("tasks", tasks, folder / "tasks.parquet")


Query = Callable[[], Any]


def overviews(db: Database) -> dict[str, Query]:
    """Queries of counts: what the overview pages read, for one family of seven models with one kind of head on all
    probe sets.
    """
    family = _family(fact_runs(db))
    ids = list(family["run_id"])
    trex = family[family["probe_set"] == "trex"]
    base = str(trex.loc[trex["model"] == BASE, "run_id"].iloc[0])
    tuned = list(trex.loc[trex["model"] != BASE, "run_id"])
    bases = [base] * len(tuned)
    return {
        "runs": lambda: fact_runs(db),
        "probe_sets": lambda: run_queries.probe_sets(db),
        "relations": lambda: run_queries.relations(db),
        "exposures": lambda: run_queries.exposures(db, ids),
        "aggregate": lambda: run_queries.aggregate(db, ids),
        "aggregate, filtered": lambda: run_queries.aggregate(db, ids, ("stated", "unseen"), False),
        "totals": lambda: run_queries.totals(db, ids),
        "majority": lambda: run_queries.majority(db, ids),
        "against_last": lambda: pair_queries.against_last(db, ids, 1),
        "answer_types": lambda: pair_queries.answer_types(db, ids),
        "relation_exposures": lambda: pair_queries.relation_exposures(db, ids),
        "layers_stored": lambda: pair_queries.layers_stored(db, ids),
        "seed_unions": lambda: pair_queries.seed_unions(db, ids),
        "transition_counts": lambda: pair_queries.transition_counts(db, bases, tuned, 1),
        "one_sided": lambda: pair_queries.one_sided(db, bases, tuned),
        "exit_counts": lambda: pair_queries.exit_counts(db, [base, tuned[0]], 1),
        "paired_layers": lambda: pair_queries.paired_layers(db, base, tuned[0], 1),
    }


def drill_downs(db: Database) -> dict[str, Query]:
    """Queries of rows: what the page of facts reads, for one run and one fact in the middle of its list."""
    family = _family(fact_runs(db))
    trex = family[family["probe_set"] == "trex"]
    run, other = str(trex["run_id"].iloc[0]), str(trex["run_id"].iloc[1])
    fact = fact_queries.random_fact(db, run) or ""
    asked = list(fact_runs(db).query("probe_set == 'trex'")["run_id"])
    return {
        "search_facts": lambda: fact_queries.search_facts(db, run, order="layers known", limit=50),
        "search_facts, text": lambda: fact_queries.search_facts(db, run, text="Rocky Balboa Philadelphia", limit=5),
        "search_facts, lost": lambda: fact_queries.search_facts(db, other, versus=run, part="lost", limit=50),
        "count_facts": lambda: fact_queries.count_facts(db, run),
        "count_facts, at a layer": lambda: fact_queries.count_facts(db, run, layer_rank=(6, 1)),
        "neighbours": lambda: fact_queries.neighbours(db, run, fact, order="layers known"),
        "random_fact": lambda: fact_queries.random_fact(db, run, seed=1),
        "fact": lambda: fact_queries.fact(db, fact),
        "fact_predictions": lambda: fact_queries.fact_predictions(db, fact, asked),
        "fact_runs": lambda: fact_queries.runs_of_fact(db, fact),
    }


def _family(runs: pd.DataFrame) -> pd.DataFrame:
    kept = runs[(runs["head"] == "tied") & ((runs["model"] == BASE) | (runs["base"] == BASE))]
    return kept.sort_values(["probe_set", "model"])


def medians(asked: dict[str, Query], rounds: int) -> dict[str, float]:
    """Name -> median seconds of a query, after one call that is not counted."""
    found = {}
    for name, query in asked.items():
        query()
        found[name] = median(seconds_of(query) for _ in range(rounds))
    return found


#: Maximum seconds of a page that is shown again, and maximum memory of the app.
PAGE_SECONDS, APP_GIB = 0.2, 1.0
_EVERYTHING_ANEW = "the same page without caches"


def measure(quick: bool = False) -> list[Measurement]:
    """Every page shown again and in another view, the queries alone, and the memory of the process."""
    size = Size(facts=2_000) if quick else TEN_MILLION
    store = make_store(cache_folder() / "bench", size)
    found = _visits(store, 3 if quick else 7)
    of = f"{size.rows:,} predictions of 7 models, 13 layers, 3 heads, {size.facts:,} facts (made up)"
    rows = []
    for visit in found["visits"]:
        again, other = visit["again"], visit["other"]
        spread = f"{min(again):.3f} to {max(again):.3f} s in {len(again)} runs; first visit {visit['first']:.2f} s"
        equal = f"words and {visit['figures']} figures, compared" if visit["anew"] else "nothing to compare"
        rows.append(
            Measurement(
                f"page {visit['page']}, shown again: seconds",
                median(again),
                _EVERYTHING_ANEW if visit["anew"] else "",
                visit["anew"],
                median(again),
                PAGE_SECONDS,
                True,
                equal,
                f"{of}; {spread}",
            )
        )
        if other:
            words = ", ".join(f"{seconds:.2f}" for seconds in other)
            rows.append(
                Measurement(
                    f"page {visit['page']}, a view that is not cached yet: seconds",
                    median(other),
                    "",
                    None,
                    median(other),
                    None,
                    True,
                    "nothing to compare",
                    f"{of}; one run each: {words} s",
                )
            )
    with open_database(store) as db:
        for what, asked in (("overviews", overviews(db)), ("facts", drill_downs(db))):
            times = medians(asked, 3 if quick else 7)
            slowest = max(times, key=lambda name: times[name])
            words = ", ".join(f"{name} {1000 * seconds:.0f}" for name, seconds in times.items())
            rows.append(
                Measurement(
                    f"queries of {what}, the slowest ({slowest}): seconds",
                    times[slowest],
                    "",
                    None,
                    times[slowest],
                    PAGE_SECONDS,
                    True,
                    "nothing to compare",
                    f"{of}; medians in ms, uncached: {words}",
                )
            )
    for name, words in (
        ("bytes", "every page but Ask"),
        ("bytes_with_ask", "every page, including Ask with the shipped model"),
    ):
        gib = found[name] / 2**30
        rows.append(
            Measurement(
                f"memory of the app, {words}: GiB",
                sum(sum(v["again"]) for v in found["visits"]),
                "",
                None,
                gib,
                APP_GIB,
                True,
                "nothing to compare",
                f"{of}; maximum of one process (VmHWM) in Streamlit's test harness",
            )
        )
    return rows


def _visits(store: Path, rounds: int) -> dict:
    places = {"PROBING_SNAPSHOT": str(store), "PROBING_CACHE": str(store.parent / "cache"), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "tests.speed.page_visits", str(rounds)]
    done = subprocess.run(command, cwd=REPOSITORY, env=os.environ | places, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProbingError(f"visiting the pages failed with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])
