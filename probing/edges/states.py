"""The spans of a task as arrays, and the states of all layers at their pieces, encoded once and kept on disk."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from transformers import PreTrainedModel

from probing.edges.targets import Part, Record
from probing.kernel.errors import ModelError
from probing.kernel.locks import LONG_WORK, exclusive_lock
from probing.kernel.models.arrays import give_back, read_mapped, write_mapped
from probing.kernel.models.check import say_unknown
from probing.kernel.models.head import PARTS
from probing.kernel.models.hub import joint_weights_id
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import all_hidden_states, batches_by_length, own_mask
from probing.kernel.options import spelled


class States(Protocol):
    """A source of states: memory maps of a cache, or an array in memory."""

    @property
    def layers(self) -> int:
        """L + 1."""

    @property
    def hidden(self) -> int:
        """Size of a state."""

    def read(self, pieces: np.ndarray) -> torch.Tensor:
        """(pieces, layers, hidden) states of piece numbers in ascending order."""


class ArrayStates:
    """States in memory, (pieces, layers, hidden)."""

    def __init__(self, states: np.ndarray):
        self.states = states

    @property
    def layers(self) -> int:
        return self.states.shape[1]

    @property
    def hidden(self) -> int:
        return self.states.shape[2]

    def read(self, pieces: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(self.states[pieces])


@dataclass(frozen=True)
class Ragged:
    """A list of piece numbers per target."""

    starts: np.ndarray  #: (targets + 1,), where each target's pieces begin in ``pieces``
    pieces: np.ndarray

    def of(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The concatenated pieces of some targets, and for each piece the position of its target among them."""
        counts = self.starts[targets + 1] - self.starts[targets]
        owner = np.repeat(np.arange(len(targets)), counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.pieces[self.starts[targets][owner] + within], owner


def ragged(lists: Sequence[np.ndarray]) -> Ragged:
    """Concatenates lists of piece numbers."""
    starts = np.cumsum([0, *(len(numbers) for numbers in lists)])
    return Ragged(starts, np.concatenate(lists).astype(np.int64) if lists else np.empty(0, np.int64))


@dataclass(frozen=True)
class PartArrays:
    """Training or test data of a task's probes."""

    spans: tuple[Ragged, ...]  #: the pieces of each span
    gold: np.ndarray  #: (variants, targets, labels) bool; the task's labels, then those of the control task, if any
    unknown: np.ndarray  #: (targets,), number of gold labels that count and are missing from training
    record: np.ndarray  #: (targets,), number of each target's sentence, ascending
    target: np.ndarray  #: (targets,), number among all targets of the part, those left out included
    left_out: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.record)

    def records(self) -> np.ndarray:
        """Numbers of the sentences that have a target."""
        return np.unique(self.record)

    def of_records(self, records: np.ndarray) -> np.ndarray:
        """Positions of the targets of some sentences, in the order of these sentences."""
        first = np.searchsorted(self.record, records)
        last = np.searchsorted(self.record, records, side="right")
        counts = last - first
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(first, counts) + within


@dataclass(frozen=True)
class TrainingData:
    """The training part and the development part that stops the training, with the states of both."""

    train: PartArrays
    train_states: States
    dev: PartArrays
    dev_states: States
    counted: np.ndarray


def part_arrays(
    part: Part,
    states,
    labels: Sequence[str],
    variants: Sequence[Part] = (),
    counts: Callable[[str], bool] = lambda _: True,
) -> PartArrays:
    """The arrays of a part; targets without states are left out and counted.

    ``labels`` are the training part's, ``variants`` the same targets with other labels. A label that F1 ``counts`` and
    training lacks is a miss.
    """
    number_of = {label: number for number, label in enumerate(labels)}
    lists: list[list[np.ndarray]] = [[], []]
    rows: list[tuple[int, int]] = []
    left_out: Counter[str] = Counter()
    place = -1
    chosen: list[list[tuple[str, ...]]] = [[] for _ in range(1 + len(variants))]
    for number, record in enumerate(part.records):
        for within, target in enumerate(record.targets):
            place += 1
            spans = [target.span1] if target.span2 is None else [target.span1, target.span2]
            pieces = [states.pieces(record, span) for span in spans]
            if reasons := [reason for reason in pieces if isinstance(reason, str)]:
                left_out[reasons[0]] += 1
                continue
            for into, numbers in zip(lists, pieces, strict=False):
                into.append(numbers)
            rows.append((number, place))
            for of_variant, other in zip(chosen, (part, *variants), strict=True):
                of_variant.append(other.records[number].targets[within].labels)
    gold = np.zeros((len(chosen), len(rows), len(labels)), bool)
    unknown = np.zeros(len(rows), np.int64)
    for variant, of_targets in enumerate(chosen):
        for row, names in enumerate(of_targets):
            for name in names:
                if name in number_of:
                    gold[variant, row, number_of[name]] = True
                elif variant == 0 and counts(name):
                    unknown[row] += 1
    table = np.array(rows, np.int64).reshape(-1, 2)
    spans_found = tuple(ragged(numbers) for numbers in lists if numbers)
    return PartArrays(spans_found, gold, unknown, table[:, 0], table[:, 1], dict(left_out))


@dataclass(frozen=True)
class Batch:
    """Some targets with the states of their spans."""

    targets: np.ndarray  #: positions in ``PartArrays``
    states: tuple[torch.Tensor, ...]  #: for each span, (distinct pieces, layers, hidden)
    pieces: tuple[torch.Tensor, ...]  #: for each span, (pairs,) positions in ``states``
    owners: tuple[torch.Tensor, ...]  #: for each span, (pairs,) positions in ``targets``, ascending
    gold: torch.Tensor  #: (variants, targets, labels) float32


def batch_of(arrays: PartArrays, states: States, targets: np.ndarray, device: torch.device) -> Batch:
    """Reads the states of some targets; each distinct piece is read once per span."""
    read, pieces, owners = [], [], []
    for span in arrays.spans:
        numbers, owner = span.of(targets)
        distinct, places = np.unique(numbers, return_inverse=True)
        read.append(states.read(distinct).to(device).float())
        pieces.append(torch.from_numpy(places.astype(np.int64)).to(device))
        owners.append(torch.from_numpy(owner).to(device))
    gold = torch.from_numpy(arrays.gold[:, targets]).to(device).float()
    return Batch(targets, tuple(read), tuple(pieces), tuple(owners), gold)


#: ESM scales its word embeddings by the share of tokens that its training left unmasked (Lin et al. 2022; transformers
#: fixes the number).
_NOT_MASKED_BY_ESM = 1 - 0.15 * 0.8
_WORDS = "embeddings.word_embeddings"
#: Model type -> the modules that turn token ids into layer 0, in order. A module with a question mark is skipped if the
#: model lacks it (ELECTRA projects its embeddings only if their size differs from that of the states).
STEPS = {
    **dict.fromkeys(PARTS, (_WORDS, "embeddings.LayerNorm")),
    "albert": (_WORDS, "embeddings.LayerNorm", "encoder.embedding_hidden_mapping_in"),
    "deberta": (_WORDS, "embeddings.embed_proj?", "embeddings.LayerNorm"),
    "deberta-v2": (_WORDS, "embeddings.embed_proj?", "embeddings.LayerNorm"),
    "electra": (_WORDS, "embeddings.LayerNorm", "embeddings_project?"),
    "esm": (_WORDS, "embeddings.layer_norm?"),
    "megatron-bert": (_WORDS,),
    "modernbert": ("embeddings.tok_embeddings", "embeddings.norm"),
    "xlm-roberta-xl": (_WORDS,),
}


def lexical_states(body: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    """Layer 0 without positions and token types: (rows, tokens) ids -> (rows, tokens, hidden)."""
    kind = body.config.model_type
    if kind not in STEPS:
        raise ModelError(f"got the model type {kind!r}, whose word embeddings are unknown; expected {', '.join(STEPS)}")
    states = ids
    for step in STEPS[kind]:
        name = step.rstrip("?")
        if step == name or _has(body, name):
            states = attrgetter(name)(body)(states)
        if step == _WORDS and getattr(body.config, "token_dropout", False):
            states = states * _NOT_MASKED_BY_ESM
    return states


def _has(body: PreTrainedModel, name: str) -> bool:
    try:
        return attrgetter(name)(body) is not None
    except AttributeError:
        return False


#: Increased when the layout of the files changes; older files are then made again.
VERSION = 1
TOKENS_A_BATCH = 4096
ENOUGH_TOKENS = 1024
#: Kept pieces per file, and so the maximum that a killed run computes again.
PIECES_A_FILE = 1 << 15
#: After this many bytes, the pages that were read are released; else mapped files would count as memory of this
#: process.
BYTES_HELD = 1 << 28


@dataclass(frozen=True)
class Cut:
    """A sentence in word pieces."""

    ids: tuple[int, ...]  #: with special tokens, cut at the model's longest input
    first: tuple[int, ...]  #: position of each word's first piece in ``ids``
    last: tuple[int, ...]  #: the one after its last; equal to ``first`` if it has none
    beyond: int  #: number of the first word that does not fit completely

    def pieces(self, span: tuple[int, int]) -> np.ndarray | str:
        """Positions in ``ids`` of a span of words, or why it has none."""
        if span[1] > self.beyond:
            return "beyond the model's longest input"
        inside = [word for word in range(*span) if self.last[word] > self.first[word]]
        return np.arange(self.first[inside[0]], self.last[inside[-1]]) if inside else "words without word pieces"


def cut_words(sentences: Sequence[Sequence[str]], encoder: Encoder) -> list[Cut]:
    """Splits sentences of words, joined with spaces, into the model's word pieces."""
    if not sentences:
        return []
    # A word keeps its space: byte-level pieces such as RoBERTa's differ between the start of a text and after a space.
    texts = [
        [own_mask(f" {word}" if place else word, encoder) for place, word in enumerate(words)] for words in sentences
    ]
    coded = encoder.tokenizer(texts, is_split_into_words=True, truncation=False, verbose=False)
    cuts = []
    for number, words in enumerate(sentences):
        ids, of_word = coded["input_ids"][number], coded.word_ids(number)
        spare = len(ids) - encoder.max_pieces
        if spare > 0:
            # The special token at the end stays at the end.
            keep = encoder.max_pieces - 1
            ids, of_word = [*ids[:keep], ids[-1]], [*of_word[:keep], None]
        first, last = [0] * len(words), [0] * len(words)
        for place, word in enumerate(of_word):
            if word is not None:
                first[word] = first[word] if last[word] else place
                last[word] = place + 1
        beyond = len(words)
        if spare > 0:
            whole = [word for word in coded.word_ids(number)[encoder.max_pieces - 1 : -1] if word is not None]
            beyond = min(whole, default=len(words))
        cuts.append(Cut(tuple(ids), tuple(first), tuple(last), beyond))
    return cuts


class WordStates:
    """States of all layers at pieces of many sentences, on disk.

    ``files`` are memory maps (pieces, layers, hidden), ``starts`` the number of the first piece of each, ``norms``
    (layers,) the mean norms over all kept pieces.
    """

    def __init__(self, files: Sequence[np.ndarray], places: Mapping[str, tuple[int, np.ndarray, Cut]]):
        self.files = list(files)
        self.starts = np.cumsum([0, *(len(file) for file in self.files)])
        self._places = places
        self._held = 0
        sums = sum(
            np.linalg.norm(block.astype(np.float32), axis=2).sum(0, dtype=np.float64) for block in self._blocks()
        )
        self.norms = np.asarray(sums) / max(1, int(self.starts[-1]))

    @property
    def layers(self) -> int:
        """L + 1."""
        return self.files[0].shape[1]

    @property
    def hidden(self) -> int:
        """Size of a state."""
        return self.files[0].shape[2]

    def _blocks(self) -> Iterator[np.ndarray]:
        for file in self.files:
            for start in range(0, len(file), 4096):
                yield file[start : start + 4096]
                self._was_read(file[start : start + 4096].nbytes)

    def _was_read(self, number: int) -> None:
        """Releases the pages of mapped files after enough bytes; the next read takes them from the system's cache."""
        self._held += number
        if self._held >= BYTES_HELD:
            self._held = 0
            for file in self.files:
                give_back(file)

    def pieces(self, record: Record, span: tuple[int, int]) -> np.ndarray | str:
        """Numbers of the kept pieces of a span, or why it has none."""
        start, stored, cut = self._places[record.sha256]
        pieces = cut.pieces(span)
        return pieces if isinstance(pieces, str) else start + np.searchsorted(stored, pieces)

    def read(self, pieces: np.ndarray) -> torch.Tensor:
        """States of pieces, sorted by number: (pieces, layers, hidden), in the stored number format."""
        self._was_read(len(pieces) * self.layers * self.hidden * self.files[0].itemsize)
        if len(self.files) == 1:
            return torch.from_numpy(self.files[0][pieces])
        of_file = np.searchsorted(self.starts, pieces, side="right") - 1
        parts = [self.files[n][pieces[of_file == n] - self.starts[n]] for n in np.unique(of_file)]
        return torch.from_numpy(np.concatenate(parts))


def words_of_spans(records: Iterable[Record]) -> dict[str, tuple[Record, set[int]]]:
    """sha256 of a text -> a record with that text, and the words inside any span of any record with it."""
    by_text: dict[str, tuple[Record, set[int]]] = {}
    for record in records:
        words = by_text.setdefault(record.sha256, (record, set()))[1]
        for target in record.targets:
            for span in (target.span1, target.span2):
                if span is not None:
                    words.update(range(*span))
    return by_text


def word_states(
    records: Iterable[Record],
    encoder: Encoder,
    folder: Path,
    dtype: str = "float16",
    passed: Callable[[int, int], None] | None = None,
) -> WordStates:
    """States at the words inside spans; those on disk are not computed again, also after a killed run.

    ``passed`` gets the numbers of finished and of all pieces. ModelError: a state is too large for ``dtype``.
    """
    by_text = words_of_spans(records)
    order = sorted(by_text)
    cuts = dict(zip(order, cut_words([by_text[name][0].words for name in order], encoder), strict=True))
    say_unknown([cut.ids for cut in cuts.values()], encoder.tokenizer, encoder.name)
    piece_numbers = {name: _pieces_of_words(cuts[name], by_text[name][1]) for name in order}
    order = [name for name in sorted(order, key=lambda name: (len(cuts[name].ids), name)) if len(piece_numbers[name])]
    decides = json.dumps(
        [
            VERSION,
            encoder.weights_id,
            encoder.configuration,
            dtype,
            [[name, [int(piece) for piece in piece_numbers[name]]] for name in order],
        ]
    )
    fingerprint = hashlib.sha256(decides.encode()).hexdigest()[:16]
    home = folder / f"{joint_weights_id(encoder.weights_id, encoder.configuration)[:16]}-{fingerprint}"
    groups = _groups(order, piece_numbers)
    shape = (encoder.layers, encoder.hidden)
    files, done, total = [], 0, sum(len(numbers) for numbers in piece_numbers.values())
    with exclusive_lock(home.with_name(f".{home.name}.lock"), limit=LONG_WORK):
        for number, group in enumerate(groups):
            path = home / f"states-{number:04d}.npy"
            count = sum(len(piece_numbers[name]) for name in group)
            if (there := read_mapped(path, (count, *shape), dtype)) is None:
                write_mapped(_encode(group, cuts, piece_numbers, encoder, dtype), path)
                there = np.load(path, mmap_mode="r")
            done += count
            if passed:
                passed(done, total)
            files.append(there)
    places, start = {}, 0
    for name in order:
        places[name] = (start, piece_numbers[name], cuts[name])
        start += len(piece_numbers[name])
    empty = {name: (0, piece_numbers[name], cuts[name]) for name in by_text if name not in places}
    return WordStates(files or [np.empty((0, *shape), dtype)], places | empty)


def _pieces_of_words(cut: Cut, words: set[int]) -> np.ndarray:
    """Positions of all pieces of some words, ascending."""
    return np.array(
        sorted({piece for word in words for piece in range(cut.first[word], cut.last[word])}), dtype=np.int64
    )


def _groups(order: Sequence[str], piece_numbers: Mapping[str, np.ndarray]) -> list[list[str]]:
    groups: list[list[str]] = []
    room = 0
    for name in order:
        if room < len(piece_numbers[name]) or not groups:
            groups.append([])
            room = PIECES_A_FILE
        groups[-1].append(name)
        room -= len(piece_numbers[name])
    return groups


def _encode(
    group: Sequence[str], cuts: Mapping[str, Cut], piece_numbers: Mapping[str, np.ndarray], encoder: Encoder, dtype: str
) -> np.ndarray:
    """(pieces, layers, hidden) of one group of sentences, in their order."""
    starts = np.cumsum([0, *(len(piece_numbers[name]) for name in group)])
    pieces = np.empty((starts[-1], encoder.layers, encoder.hidden), dtype)
    rows = [cuts[name].ids for name in group]
    for batch in batches_by_length([len(row) for row in rows], TOKENS_A_BATCH, ENOUGH_TOKENS):
        ids = [rows[number] for number in batch]
        states = all_hidden_states(ids, encoder)
        with torch.inference_mode():
            for place, number in enumerate(batch):
                at = torch.from_numpy(piece_numbers[group[number]]).to(encoder.device)
                here = torch.stack([state[place, at] for state in states], 1)
                tokens = torch.tensor(ids[place], device=encoder.device)[None]
                here[:, 0] = lexical_states(encoder.body, tokens)[0, at]
                with np.errstate(over="ignore"):
                    pieces[starts[number] : starts[number + 1]] = here.float().cpu().numpy()
    if not np.isfinite(pieces).all():
        raise ModelError(
            f"hidden states of {encoder.name} are too large for {dtype}, or not finite; keep them as float32"
            f" ({spelled('states_dtype')})"
        )
    return pieces
