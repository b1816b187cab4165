"""What an objective trains on and is scored by: data, rows, the model with its task's head."""

import copy
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from probing.core.errors import FactsError, ModelError
from probing.core.nesia.corpus import wikitext_sentences
from probing.core.registry import ModelEntry
from probing.core.tasks import task_data


@dataclass
class Task:
    """A fine-tuning that is ready to run.

    Attributes:
        model: the base's body with the task's head.
        before: the base as a masked language model.
        kind: how rows become batches, see ``models.finetuning.trainer.finetune``.
        rows: training rows.
        data_sha256: of the training rows.
        base_weights: identity of the base.
        test_words: what it is scored on, in words.
        score: gives the task's scores.
    """

    model: Any
    before: Any
    tokenizer: Any
    kind: str
    rows: Sequence[Any]
    data_sha256: str
    base_weights: str
    test_words: str
    score: Callable[[], list]

    def save(self, folder: Path, difference: bool) -> None:
        """Writes body and tokenizer; as a difference, the model in memory then becomes what was stored, so that this is scored."""
        import torch

        from probing.models.encoders.delta_weights import apply_difference, save_difference

        if not difference:
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
            return
        before, after = dict(self.before.named_parameters()), dict(self.model.named_parameters())
        save_difference(before, after, self.base_weights, folder)
        self.before.config.save_pretrained(folder)
        stored = copy.deepcopy(self.before)
        apply_difference(stored, folder, self.base_weights)
        with torch.no_grad():
            for name, value in stored.named_parameters():
                if name in after:
                    after[name].copy_(value)


def prepare(objective: str, entry: ModelEntry, data: Path, lama: Path | None, settings: dict, seed: int) -> Task:
    """Reads the data and loads the base with the objective's head.

    Args:
        objective: a name of ``commands.finetune.Objective``.
        entry: the base.
        data: folder of the data set; for the control a text file.
        lama: the control of a model made here: LAMA folder, whose sentences are part of the model's own text.
        settings: ``max_pieces``, ``stride`` and more.
        seed: of the task's head.

    Raises:
        ModelError, HeadError: if the base cannot be loaded whole, with tokenizer and head, or reads shorter inputs than ``max_pieces``.
        FactsError: if the data are malformed, or have nothing to train on or be scored on.
    """
    import torch
    from transformers import (
        AutoModelForMaskedLM,
        AutoModelForQuestionAnswering,
        AutoModelForSequenceClassification,
        AutoModelForTokenClassification,
    )

    from probing.models.encoders.load import load_encoder, weights_identity
    from probing.models.finetuning import evaluation, examples

    where, revision = entry.location, entry.revision or None
    # The classes below invent, in silence, a head or a tokenizer that the base lacks; this names it.
    base = load_encoder(where, name=entry.name, revision=revision, device="cpu")
    tokenizer = base.tokenizer
    limit, stride, share = settings["max_pieces"], settings.get("stride", 128), settings.get("masked_share", 0.15)
    if limit > base.max_pieces:
        raise ModelError(f"{entry.name} reads at most {base.max_pieces} word pieces, got {limit}; give --pieces {base.max_pieces}")
    del base
    torch.manual_seed(seed)

    def load(head: Any, **more: Any) -> Any:
        return head.from_pretrained(where, revision=revision, dtype=torch.float32, **more)

    before = load(AutoModelForMaskedLM).eval()
    if objective == "ner-conll":
        train, test = task_data.conll_parts(data)
        tags = sorted({tag for sentence in (*train, *test) for tag in sentence.tags})
        model, kind, rows = (
            load(AutoModelForTokenClassification, num_labels=len(tags)),
            "tags",
            examples.tag_rows(train, tokenizer, tags, limit),
        )
        score: Callable[[], list] = partial(evaluation.score_tags, model, tokenizer, test, tags, limit)
        words = f"{len(test):,} sentences"
    elif objective.startswith("qa-"):
        asked, held = task_data.squad_parts(data, objective == "qa-squad-2")
        lengths = [len(question.answers[0][0].split()) for question in asked if question.answers]
        _check_parts(data, lengths, held)
        model, kind, rows = load(AutoModelForQuestionAnswering), "span", examples.question_rows(asked, tokenizer, limit, stride)
        score = partial(evaluation.score_spans, model, tokenizer, held, lengths, limit, stride)
        words = f"{len(held):,} questions"
    elif objective == "rank-msmarco":
        pairs, lists = task_data.ranking_parts(data)
        _check_parts(data, pairs, lists)
        model, kind, rows = load(AutoModelForSequenceClassification, num_labels=2), "class", examples.pair_rows(pairs, tokenizer, limit)
        score = partial(evaluation.score_ranking, model, tokenizer, lists, limit)
        words = f"{len(lists):,} ranked lists"
    else:
        texts = _texts(objective, data, lama)
        split = [[t for key, t in texts if task_data.in_test_part(key) is held] for held in (False, True)]
        _check_parts(data, *split)
        parts = [examples.text_rows(part, tokenizer, limit, joined=objective != "control") for part in split]
        model, kind, rows = load(AutoModelForMaskedLM), "mlm", parts[0]
        test_rows = parts[1][:2000]
        score = partial(evaluation.score_masked, model, before, tokenizer, test_rows, share)
        words = f"{len(test_rows):,} blocks of held-out text"
    return Task(model, before, tokenizer, kind, rows, rows_sha256(rows), weights_identity(where, revision), words, score)


def rows_sha256(rows: Iterable[Any]) -> str:
    """sha256 over ids and labels of training rows, as Python writes a list of them; row by row, for the whole list takes gigabytes."""
    digest, before = hashlib.sha256(b"["), ""
    for row in rows:
        digest.update(f"{before}{(row.ids, row.labels)!r}".encode())
        before = ", "
    digest.update(b"]")
    return digest.hexdigest()


def _check_parts(data: Path, train: Sequence[Any], test: Sequence[Any]) -> None:
    """Before hours of training, not behind them."""
    for part, what in ((train, "train on"), (test, "be scored on")):
        if not part:
            held = f"{task_data.TEST_SHARE:.0%} of the articles or queries are held out for scoring, decided by their names"
            raise FactsError(f"{data} has nothing to {what}; expected the official files, or more of them: {held}")


def _texts(objective: str, data: Path, lama: Path | None) -> list[tuple[str, str]]:
    """(what decides on the part, text) of the masked-language-modelling objectives."""
    if objective == "mlm-squad":
        return task_data.squad_texts(data)
    if objective == "mlm-msmarco":
        return task_data.ranking_texts(data)
    if lama is None:
        return [(sentence, sentence) for sentence in wikitext_sentences(data)]
    from probing.core.facts.sources import read_facts
    from probing.core.facts.templates import shipped_relations
    from probing.core.nesia.training_text import training_text

    relations = shipped_relations()
    facts = [fact for facts in read_facts("all", relations) for fact in facts.facts]
    text = training_text(lama, data, facts, relations)
    return [(sentence.text, sentence.text) for sentence in [*text.text, *text.stated]]
