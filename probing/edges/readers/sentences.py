"""Universal Dependencies (part of speech, dependencies, sentences of other tasks), and the names of CoNLL-2003."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from probing.edges.readers.own_tasks import Parts, numbered_lines, part_of, wrong
from probing.edges.targets import PARTS, Part, Record, Target
from probing.finetuning.scores import entities as tagged_entities
from probing.finetuning.tasks.conll import read_conll
from probing.finetuning.tasks.data_files import first_of
from probing.kernel.errors import EdgeDataError, FactsError
from probing.kernel.text import conllu_sentences


@dataclass(frozen=True)
class ParsedSentence:
    """A sentence of a CoNLL-U file, by word: XPOS tag, head counted from 1 (0: root), relation with subtype."""

    name: str
    document: str
    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]


def read_sentences(path: Path) -> Iterator[ParsedSentence]:
    """Sentences of a CoNLL-U file."""
    return parsed_sentences(numbered_lines(path), path)


def parsed_sentences(lines: Iterable[tuple[int, str]], path: Path) -> Iterator[ParsedSentence]:
    """Sentences of the numbered lines of a CoNLL-U file; every head must be a word of the sentence."""
    document = ""
    for tree in conllu_sentences(lines, path, EdgeDataError):
        document = tree.comments.get("newdoc id", document)
        words, tags, relations = tree.column(1), tree.column(4), tree.column(7)
        for line, columns in tree.words:
            if not columns[6].isdigit():
                raise wrong(path, line, f"got the head {columns[6]!r}, expected the number of a word")
        heads = tuple(map(int, tree.column(6)))
        if max(heads) > len(words):
            raise wrong(
                path, tree.end, f"a head is word {max(heads)}, but the sentence that ends here has {len(words)} words"
            )
        yield ParsedSentence(tree.comments.get("sent_id", ""), document, words, tags, heads, relations)


def part_of_speech(sentence: ParsedSentence) -> Iterator[Target]:
    """One target per word: its tag."""
    return (Target((place, place + 1), None, (tag,)) for place, tag in enumerate(sentence.tags))


def dependencies(sentence: ParsedSentence) -> Iterator[Target]:
    """One target per word: its relation to its head, the second span; the root is its own head, as in jiant."""
    for place, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
        second = head - 1 if head else place
        yield Target((place, place + 1), (second, second + 1), (relation,))


def ewt_file(folder: Path, part: str) -> Path:
    """A part of UD English EWT."""
    return folder / f"en_ewt-ud-{part}.conllu"


def read_ewt(targets: Callable[[ParsedSentence], Iterator[Target]], folder: Path) -> Parts:
    """UD English EWT with the targets that a function finds in a sentence."""
    train, dev, test = (_part(ewt_file(folder, part), targets) for part in PARTS)
    return train, dev, test


def _part(path: Path, targets: Callable[[ParsedSentence], Iterator[Target]]) -> Part:
    return part_of(path, (Record(parse.words, tuple(targets(parse)), parse.document) for parse in read_sentences(path)))


def ewt_sentences(folder: Path) -> dict[str, ParsedSentence]:
    """All sentences of UD English EWT by their ids."""
    by_name: dict[str, ParsedSentence] = {}
    for part in PARTS:
        for sentence in read_sentences(ewt_file(folder, part)):
            if sentence.name in by_name:
                raise EdgeDataError(f"{ewt_file(folder, part)} has the sentence {sentence.name!r} a second time")
            by_name[sentence.name] = sentence
    return by_name


_FILES = (("eng.train", "train.txt"), ("eng.testa", "valid.txt"), ("eng.testb", "test.txt"))


def read_conll_entities(folder: Path) -> Parts:
    """Entities of CoNLL-2003. The words may not be published: the texts are Reuters'."""
    train, dev, test = (_entity_part(folder, names) for names in _FILES)
    return train, dev, test


def _entity_part(folder: Path, names: Sequence[str]) -> Part:
    try:
        path = first_of(folder, names)
        sentences = read_conll(path)
    except FactsError as error:
        raise EdgeDataError(str(error)) from error
    return part_of(path, (Record(sentence.words, entities(sentence.tags), open=False) for sentence in sentences))


def entities(tags: Sequence[str]) -> tuple[Target, ...]:
    """One target per entity, in the order of the words."""
    spans = sorted(tagged_entities(tags), key=lambda span: span[1])
    return tuple(Target((start, end), None, (kind,)) for kind, start, end in spans)
