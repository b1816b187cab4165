"""Makes nesia-mini, the small model that ships."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.making.pretraining.start import continued_start, fresh_start
from data.making.pretraining.train import PretrainRecipe
from data.making.pretraining.train import pretrain as train
from probing.facts.corpus import Sentence, TrainingText, fact_key, training_text
from probing.facts.lama import subfolder
from probing.facts.sources import read_facts
from probing.kernel.errors import ModelError, Say
from probing.kernel.fact import EXPOSURES, Fact, shipped_relations
from probing.kernel.files import atomic_folder
from probing.kernel.locks import LONG_WORK, exclusive_lock
from probing.kernel.store.parquet import write_table

MIN_ANSWER_COUNT = 5
ALWAYS_HELD = ("philadelphia",)


@dataclass(frozen=True)
class PretrainRequest:
    """A model to make of natural sentences and of stated facts, from new weights or from those of ``start``."""

    lama: Path
    wikitext: Path
    out: Path
    recipe: PretrainRecipe
    start: Path | None = None
    vocabulary: int = 12_000
    work: Path = Path("cache/pretrain")


def pretrain(request: PretrainRequest, say: Say = print) -> None:
    """Trains by masked language modelling, resumable, and records every fact's exposure."""
    out, recipe, work = request.out, request.recipe, request.work / request.out.name
    # Checkpoints have one name: a second process waits, and then finds the work done.
    with exclusive_lock(request.work / f"{out.name}.lock", limit=LONG_WORK):
        facts, text = _read(request)
        if request.start is None:
            held = words_to_hold(facts, text.text)
            model, tokenizer = fresh_start(
                recipe, work / "tokenizer", (s.text for s in text.text), request.vocabulary, held
            )
        else:
            model, tokenizer = continued_start(recipe, request.start)
        sentences = text.text + text.stated * recipe.stated_visits + text.well_known * recipe.well_known_visits
        say(
            f"{len(sentences):,} sentences, {len(tokenizer):,} tokens in the vocabulary, {model.num_parameters():,}"
            " parameters"
        )
        history = train(model, tokenizer, sentences, recipe, work)
        stage = {
            "sentences": len(sentences),
            "recipe": recipe.model_dump(by_alias=True),
            "history": history,
        }
        _store(request, model, tokenizer, text.exposure, stage)
        known = {fact_key(fact) for fact in facts}
        say(f"wrote {out}: {len(known & text.exposure.keys()):,} facts with their exposure")


def record_exposure(request: PretrainRequest, say: Say = print) -> None:
    """Writes every fact's exposure in the text of an existing model again; the model stays unchanged."""
    out = request.out
    record = out / "training.json"
    if not record.is_file():
        raise ModelError(f"{record} is missing; exposures are of models made by: python -m probing pretrain")
    exposure = _read(request)[1].exposure
    _write_exposure(out.name, exposure, out)
    counts = Counter(exposure.values())
    say(f"wrote the exposures of {out}: " + ", ".join(f"{counts[name]:,} {name}" for name in EXPOSURES))


def _read(request: PretrainRequest) -> tuple[list[Fact], TrainingText]:
    relations = shipped_relations()
    facts: list[Fact] = [fact for facts in read_facts("all", relations) for fact in facts.facts]
    return facts, training_text(request.lama, request.wikitext, facts, relations)


def relations_with_evidence(lama: Path) -> list[str]:
    """Names of the relations for which a LAMA folder has evidence sentences."""
    folders = [folder for name in ("trex", "google_re") if (folder := subfolder(lama, name))]
    return sorted(path.stem.removesuffix("_test") for folder in folders for path in folder.glob("*.jsonl"))


def words_to_hold(facts: Sequence[Fact], sentences: Sequence[Sentence]) -> list[str]:
    """One-word answers that the text has at least five times, as an uncased vocabulary writes them (lower case, no
    accents), and those that are always wanted."""
    counts = Counter(word for one in sentences for word in re.findall(r"\w+", one.text.casefold()))
    answers = {fact.object.casefold() for fact in facts if re.fullmatch(r"[^\W_]+", fact.object)}
    frequent = {_without_accents(answer) for answer in answers if counts[answer] >= MIN_ANSWER_COUNT}
    return sorted(frequent | set(ALWAYS_HELD))


def _without_accents(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn")


def _write_exposure(model: str, exposure: Mapping[str, str], folder: Path) -> None:
    rows = [{"model": model, "fact_key": key, "exposure": kind} for key, kind in sorted(exposure.items())]
    write_table("exposure", rows, folder / f"exposure-{model}.parquet")


def _store(
    request: PretrainRequest, model: Any, tokenizer: Any, exposure: Mapping[str, str], stage: Mapping[str, Any]
) -> None:
    """Writes model, exposures and the record of its stages; they get their final names when all are written."""
    out = request.out
    earlier = request.start / "training.json" if request.start else None
    stages = json.loads(earlier.read_text(encoding="utf-8"))["stages"] if earlier and earlier.is_file() else []
    record = {
        "relations_with_evidence": relations_with_evidence(request.lama),
        "held_out_by": "evidence",
        "stages": [*stages, stage],
    }
    # A folder that looks like a model is taken as one.
    with atomic_folder(out) as half:
        model.half().save_pretrained(half)
        # Weights are stored in half of their bytes, and a plain ``from_pretrained`` gives float32, which can be tuned.
        config = half / "config.json"
        config.write_text(config.read_text(encoding="utf-8").replace('"float16"', '"float32"'), encoding="utf-8")
        tokenizer.save_pretrained(half)
        _write_exposure(out.name, exposure, half)
        (half / "training.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
