"""Runs that rank the right answers of facts among candidates at every layer; a killed run resumes to equal bytes."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from tqdm import tqdm

from probing.facts.candidates import BEST, Question, Ranks, Scorer, ask, rank
from probing.facts.probe import Asked, HeadsWork, configuration
from probing.facts.requests import INDEPENDENT, CandidateRunConfig
from probing.facts.stored_run import in_order
from probing.kernel.errors import FactsError, Say
from probing.kernel.fact import DUPLICATE, SAME_TOKENS, TOO_LONG, Fact, FactSet, facts_sha256, restrict
from probing.kernel.files import cache_folder
from probing.kernel.jobs.stored_runs import RunFiles, TaskWork, do_job
from probing.kernel.models.head import Head
from probing.kernel.models.load import Encoder
from probing.kernel.provenance import canonical_json
from probing.kernel.store.parquet import read_table, write_table

_TABLES = ("candidate_facts", "candidate_ranks", "candidate_runs")


@dataclass(frozen=True)
class Ranking(HeadsWork, TaskWork):
    """Ranks a run's right answers; a shard is a slice of its facts."""

    encoder: Encoder
    heads: Sequence[Head]
    facts: Sequence[Fact]  #: that the model can be asked
    questions: Sequence[Question]  #: what it is asked of each
    config: CandidateRunConfig
    shards_folder: Path
    probed_layers: Sequence[int]
    heads_folder: Path | None
    candidates_left_out: Mapping[str, int]  #: reason -> number of different candidates, by relation
    progress: bool

    def make(self, shard: int) -> list[Path]:  # type: ignore[override]
        """Ranks the answers of a slice of the facts."""
        some = slice(shard * self.config.shard, (shard + 1) * self.config.shard)
        scorer = Scorer(self.encoder, self.heads, self.probed_layers, self.config.measure)
        title = f"rank {self.config.model} {self.config.head} {self.config.probe_set}"
        questions = self.questions[some]
        with tqdm(total=len(questions), unit="fact", desc=title, disable=not self.progress) as bar:
            ranks = rank(questions, scorer, bar.update)
        rows = _columns(self.config.run_id, self.facts[some], questions, ranks, self.probed_layers)
        return [write_table("candidate_ranks", rows, self.part(shard))]

    def part(self, shard: int) -> Path:
        """The file of a shard's ranks until all are done."""
        return self.folder / f"shard-{shard:05d}.parquet"


def prepared(asked: Asked, found: FactSet) -> tuple[FactSet, Ranking]:
    """The facts that the model can be asked, and the work on them, in the order in which they are stored."""
    request, left_out = asked.request, Counter[str]()
    candidates, right = found.candidates
    if request.candidates:
        texts, left_out[DUPLICATE] = read_candidates(request.candidates)
        candidates = dict.fromkeys((fact.relation for fact in found.facts), texts)
    questions = ask(found.facts, candidates, right, asked.encoder)
    of_fact = {id(fact): question for fact, question in zip(found.facts, questions, strict=True)}
    reasons = {key: question if isinstance(question, str) else None for key, question in of_fact.items()}
    kept = restrict(found, lambda fact: reasons[id(fact)])
    facts = [kept.facts[n] for n in in_order(kept.facts)]
    work = [question for fact in facts if isinstance(question := of_fact[id(fact)], Question)]
    # Prompts with one cut and as much room leave out the same candidates.
    distinct = {(id(one.cut), one.room): (fact.relation, one) for fact, one in zip(facts, work, strict=True)}
    lost = set[tuple[str, str, str]]()
    for relation, one in distinct.values():
        possible = one.possible
        for number in np.flatnonzero(~one.distinct).tolist():
            why = one.cut.reasons[number] or (SAME_TOKENS if possible[number] else TOO_LONG)
            lost.add((relation, one.cut.texts[number], why))
    left_out.update(reason for *_, reason in lost)
    cache, used, first = cache_folder().absolute(), dict[str, object](), dict[int, str]()
    for fact in facts:
        # Relations that share a list name the first of them, as such a list may be as long as the file.
        texts = candidates[fact.relation]
        named = first.setdefault(id(texts), fact.relation)
        used[fact.relation] = texts if named == fact.relation else named
    config = CandidateRunConfig(
        **configuration(asked, kept, facts_sha256(facts, [question.cut.pieces[question.answer] for question in work])),
        measure=request.measure,
        candidates_sha256=hashlib.sha256(canonical_json(used).encode()).hexdigest(),
        best=0 if request.measure == INDEPENDENT else BEST,
    )
    heads_folder = asked.heads_folder and asked.heads_folder.absolute()
    return kept, Ranking(
        asked.encoder,
        asked.heads,
        facts,
        work,
        config,
        cache / "shards",
        asked.layers,
        heads_folder,
        +left_out,
        request.progress,
    )


def read_candidates(path: Path) -> tuple[tuple[str, ...], int]:
    """The different candidates of a file with one per line, and how many lines repeat one; empty lines are skipped."""
    try:
        lines = path.expanduser().read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise FactsError(f"cannot read {path}: {why}; expected a text in UTF-8 with one candidate per line") from error
    texts = [text for line in lines if (text := " ".join(line.split()))]
    if len(different := dict.fromkeys(texts)) < 2:
        raise FactsError(f"{path} has {len(different)} candidates; expected two or more, one per line")
    return tuple(different), len(texts) - len(different)


def store(asked: Asked, kept: FactSet, work: Ranking, say: Say) -> None:
    """Writes a run and its tables, if they are missing."""
    request, config, encoder = asked.request, work.config, work.encoder
    parts = {"facts": kept.left_out, "candidates": work.candidates_left_out}
    row = config.row | {
        **{name: getattr(config, name) for name in ("head", "measure", "template_set", "probe_set", "best", "dtype")},
        "candidates_file": request.candidates and request.candidates.name,
        "layers": encoder.layers,
        "n_read": kept.n_read,
        "n_probed": len(work.facts),
        "left_out": json.dumps({part: counts for part, counts in parts.items() if counts}, sort_keys=True),
    }
    rows = _fact_rows(config.run_id, work.facts, work.questions)
    run, numbers = RunFiles(config, _TABLES, request.target), [one["candidates"] for one in rows]
    lost = ", ".join(f"{n:,} {reason}" for reason, n in sorted(work.candidates_left_out.items())) or "none"
    say(f"  {min(numbers):,} to {max(numbers):,} candidates for a fact; left out of the candidates: {lost}")
    if filtered := sum(one["filtered"] > 0 for one in rows):
        say(f"  {filtered:,} facts have other right answers, which do not count against theirs")
    if config.best:
        say(f"  {config.measure} ranks the {BEST} best of {INDEPENDENT} at each layer, and all others behind them")
    if run.whole():
        (stored,) = read_table(run.file(_TABLES[-1]), _TABLES[-1]).to_pylist()
        # The counts of read and left-out facts may change while the kept facts stay.
        if any(stored[name] != row[name] for name in ("n_read", "left_out", "candidates_file")):
            run.write({_TABLES[-1]: [row]}, encoder)
        say(f"  {config.run_id} exists already: {run.file('candidate_ranks')}")
        return

    def finish() -> None:
        ranks = pa.concat_tables([read_table(work.part(number), "candidate_ranks") for number in work.shards.values()])
        run.write({"candidate_facts": rows, "candidate_ranks": ranks, "candidate_runs": [row]}, encoder)
        shutil.rmtree(work.folder, ignore_errors=True)

    do_job(request, work, say, finish=finish)
    say(f"  {config.run_id}: {run.file('candidate_ranks')}")


def _fact_rows(run_id: str, facts: Sequence[Fact], questions: Sequence[Question]) -> list[dict]:
    """The rows of ``candidate_facts``."""
    rows = []
    for fact, question in zip(facts, questions, strict=True):
        among, lengths = question.among, question.cut.lengths
        pieces = int(lengths[question.answer])
        counts = {
            "pieces": pieces,
            "candidates": int(among.sum()),
            "filtered": int(question.distinct.sum() - among.sum()),
            "fewer_pieces": int((lengths[among] < pieces).sum()),
            "equal_pieces": int((lengths[among] == pieces).sum()),
        }
        names = ("fact_id", "relation", "subject", "object", "prompt", "answer_in_subject")
        rows.append({"run_id": run_id, **{name: getattr(fact, name) for name in names}, **counts})
    return rows


def _columns(
    run_id: str, facts: Sequence[Fact], questions: Sequence[Question], ranks: Ranks, layers: Sequence[int]
) -> dict[str, pa.Array]:
    """The columns of ``candidate_ranks``."""
    best = [
        question.cut.texts[number]
        for of_layer in ranks.best.tolist()
        for question, number in zip(questions, of_layer, strict=True)
    ]
    texts = {
        "run_id": pa.array([run_id] * len(best)),
        "fact_id": pa.array([fact.fact_id for fact in facts] * len(layers)),
        "layer": pa.array(np.repeat(np.asarray(layers, dtype=np.uint8), len(facts))),
        "best": pa.array(best),
    }
    numbers = {name: getattr(ranks, name).reshape(-1) for name in vars(ranks) if name != "best"}
    return texts | {
        name: pa.array(values.astype(np.uint32) if name.endswith("tied") else values, mask=np.isnan(values))
        for name, values in numbers.items()
    }
