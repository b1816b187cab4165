"""What a fact is, the relations and templates that make its prompt, and which facts a model can be asked."""

import ast
import hashlib
import json
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from probing.kernel.errors import FactsError
from probing.kernel.files import FACTS_FOLDER
from probing.kernel.registry import has_data

MASK = "[MASK]"
#: The shipped probe set whose answers have several words.
PHRASES = "phrases"
#: The shipped probe set of well-known facts in everyday words, all of which the text of our own models states.
EVERYDAY = "everyday"


@dataclass(frozen=True)
class ProbeSet:
    """A set of facts: how results name it, how the app shows it, and how ``facts.sources`` reads it."""

    name: str
    title: str
    #: ``lama`` (a folder in LAMA's layout), ``clozes`` (a file of own facts), ``triples`` (a folder with a file per
    #: relation, asked in our templates), or ``bear`` (a folder that ``fetch`` brings); empty for a user's own.
    reader: str = ""
    #: What it opens: LAMA's name of the folder, or the path in ``data/facts``.
    source: str = ""
    #: Whether it ships, so that ``--facts NAME`` needs no folder.
    ships: bool = True
    #: By default that of a user's own sets.
    colour: str = "#999933"


#: In the order of menus and lists. LAMA's names are kept for LAMA's facts only; colours are after Paul Tol's "bright",
#: so that no model's colour means two things.
DECLARED = (
    ProbeSet("trex", "T-REx", "lama", "TREx", colour="#6459C9"),
    ProbeSet("google_re", "Google-RE", "lama", "Google_RE", colour="#E5606F"),
    ProbeSet("conceptnet", "ConceptNet", "lama", "ConceptNet", ships=False, colour="#B39B1E"),
    ProbeSet("squad", "SQuAD", "lama", "Squad", ships=False, colour="#2F9FC4"),
    ProbeSet("common_sense", "common sense (ours)", "clozes", "common_sense.jsonl", colour="#228833"),
    ProbeSet("questions", "questions (ours)", "clozes", "questions.jsonl", colour="#AA3377"),
    ProbeSet(EVERYDAY, "well-known facts (ours)", "clozes", "well_known.jsonl", colour="#117A65"),
    ProbeSet(PHRASES, "answers of several words (ours)", "triples", "phrases", colour="#C06A1B"),
    ProbeSet("bear", "BEAR", "bear", ships=False),
    ProbeSet("bear-big", "BEAR-big", "bear", ships=False),
    ProbeSet("own", "your own facts", ships=False),
)
#: Internal name -> how the app shows it.
PROBE_SETS = {one.name: one.title for one in DECLARED}
#: Those that ``fetch`` brings, read from their own folders.
FETCHED = tuple(one.name for one in DECLARED if one.reader == "bear")

#: Exposure of the facts on the list of well-known ones, which no group that the hash made contains.
WELL_KNOWN = "well known"
STATED = "stated"
#: What a model's training text has of a fact.
EXPOSURES = (STATED, "evidence", "unseen", "held out in part", "held out", WELL_KNOWN)


class Subset(NamedTuple):
    """Which facts are counted: those of some exposures to the training text, and whose subject has the answer or not.

    None does not filter; no exposures at all keep nothing.
    """

    exposures: Sequence[str] | None = None
    answer_in_subject: bool | None = None


EVERY_FACT = Subset()

#: All that ship, and those of them whose answers are one word, which ``all`` means.
SHIPPED = tuple(one.name for one in DECLARED if one.ships)
ONE_WORD = tuple(name for name in SHIPPED if name != PHRASES)
#: What a name of facts may be: one set, or all shipped ones of one-word answers.
SOURCES = (*SHIPPED, *FETCHED, "all")

SEVERAL_TOKENS = "object is several tokens"
UNKNOWN = "object is unknown to the vocabulary"
NOT_ONE_MASK = "not exactly one mask"
NO_ANSWER = "no answer"
NOT_FILLED = "subject not filled in"
JUDGED_WRONG = "judged wrong"
MALFORMED = "malformed"
DUPLICATE = "duplicate"
SAME_TOKENS = "same tokens as another candidate"
TOO_LONG = "prompt longer than the model takes"
SUBJECT_UNKNOWN = "subject is unknown to the vocabulary"
OTHER_PROMPT = "object changes the tokens around it"
NO_CANDIDATE = "object is none of the candidates"
NO_OTHER = "no other candidate"


@dataclass(frozen=True)
class Fact:
    """A (subject, relation, object) triple with the prompt that asks for its object; labels without outer spaces."""

    #: A key of ``PROBE_SETS``, or a user's own name.
    probe_set: str
    relation: str
    subject: str
    object: str
    #: The text with ``[X]`` and ``[Y]``; if a set has no templates, the prompt itself.
    template: str
    prompt: str
    #: A further classification that is shown but never averaged over (ConceptNet's predicate).
    pred: str = ""

    @property
    def fact_id(self) -> str:
        """First 16 hex digits of sha256 over the JSON list [probe set, relation, subject, object, template]."""
        parts = [self.probe_set, self.relation, self.subject, self.object, self.template]
        text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def about(self) -> str:
        """The subject; of a fact without one, its prompt."""
        return self.subject or self.prompt

    @property
    def answer_in_subject(self) -> bool:
        """Whether the object occurs as a whole word in the subject: copying is not knowledge."""
        return contains_words(self.subject, self.object)


@dataclass(frozen=True)
class FactSet:
    """The facts of one probe set as read; ``n_read == len(facts) + sum(left_out.values())`` always holds.

    ``dropped`` lacks what the reader of a data set has left out. ``said`` is how the user's table was read, in words;
    empty if its columns are called as ours and nothing else is to be said.
    """

    probe_set: str
    facts: tuple[Fact, ...]
    n_read: int
    left_out: dict[str, int]
    template_set: str = "default"
    dropped: tuple[tuple[Fact, str], ...] = field(default=(), repr=False, compare=False)
    said: str = field(default="", repr=False, compare=False)
    #: Relation -> its possible answers, if the data set names them.
    answer_spaces: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def candidates(self) -> tuple[dict[str, tuple[str, ...]], dict[tuple[str, str], set[str]]]:
        """The answer space of each relation, else its different answers; and the right ones of each of its prompts.

        A relation has the answers of all relations, and what is right for a prompt in any of them, if one of its
        prompts has no wrong answer else, as with a single answer. Answers of facts that are left out, such as those
        without a gap, are candidates, too.
        """
        answers, right = defaultdict[str, set[str]](set), defaultdict[tuple[str, str], set[str]](set)
        of_prompt = defaultdict[str, set[str]](set)
        for fact in (*self.facts, *(fact for fact, _ in self.dropped if fact.object)):
            for texts in (answers[fact.relation], right[fact.relation, fact.prompt], of_prompt[fact.prompt]):
                texts.add(fact.object)
        few = {relation for (relation, _), texts in right.items() if texts == answers[relation]}
        few -= self.answer_spaces.keys()
        every = tuple(sorted(set().union(*answers.values())))
        among = {name: every if name in few else tuple(sorted(texts)) for name, texts in answers.items()}
        right |= {key: of_prompt[key[1]] for key in right if key[0] in few}
        return among | dict(self.answer_spaces), right

    @property
    def left_out_in_words(self) -> str:
        """The counts by reason, and how a gap is written if most prompts lack one."""
        words = ", ".join(f"{n:,} {reason}" for reason, n in sorted(self.left_out.items())) or "none"
        most = 2 * self.left_out.get(NOT_ONE_MASK, 0) > self.n_read
        return f"{words}; a gap is written [MASK], <mask> or ___, once in each prompt" if most else words


def contains_words(text: str, words: str) -> bool:
    """Whether ``words`` occurs in ``text`` as whole words, ignoring case."""
    return re.search(rf"(?<!\w){re.escape(words.strip())}(?!\w)", text, re.IGNORECASE) is not None


_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
#: A list as Python, JSON or numpy write it.
_LIST = re.compile(rf"[\[({{]\s*{_QUOTED}(?:[\s,]+{_QUOTED})*\s*,?\s*[\])}}]")
#: A list without quotation marks, as of numbers.
_BARE = re.compile(r"\[[^\[\]{}'\"]*\]")
#: Keys that hold an answer's text where it is an object.
_TEXT_KEYS = ("text", "name", "label", "value", "answer")


def right_answers(cell: Any, parting: str = "") -> list[Any]:
    """The right answers that a cell holds, one for most: those of a list, and of a text that is one.

    ``parting`` is a sign between them. What is no text remains as it is; without any, an empty text is the only one.
    """
    if type(cell).__module__ == "numpy":
        cell = cell.tolist()
    if isinstance(cell, str) and (text := cell.strip())[:1] in ("[", "(", "{"):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            if _BARE.fullmatch(text):
                cell = text[1:-1].split(",")
            elif _LIST.fullmatch(text):
                cell = [ast.literal_eval(one.replace("\\/", "/")) for one in re.findall(_QUOTED, text)]
            elif re.match(r"(\[\s*)?{\s*['\"]", text):
                cell = ast.literal_eval(text)
    if isinstance(cell, dict):
        cell = next((cell[key] for key in _TEXT_KEYS if cell.get(key)), cell)
    if isinstance(cell, list | tuple | set):
        found = [answer for one in cell if one is not None for answer in right_answers(one)]
        return [answer for place, answer in enumerate(found) if answer not in found[:place]] or [""]
    if parting and isinstance(cell, str):
        return list(dict.fromkeys(filter(None, map(str.strip, re.split(rf"(?:{re.escape(parting)})+", cell))))) or [""]
    return [cell]


def fill(template: str, subject: str) -> str:
    """The prompt that asks ``template`` about ``subject``."""
    # One pass, so that [Y] inside a subject is not taken for the gap.
    return re.sub(r"\[[XY]\]", lambda match: subject if match[0] == "[X]" else MASK, template)


def select(
    probe_set: str,
    read: Iterable[Fact],
    left_out: Counter[str] | None = None,
    template_set: str = "default",
    several_prompts: bool = False,
) -> FactSet:
    """De-duplicates facts and drops those without an answer and prompts without exactly one mask, counting all three.

    Two facts are the same if relation, subject and object agree as raw strings with spaces stripped, before any
    lower-casing; the first is kept. With ``several_prompts`` other prompts make other facts; LAMA's published counts
    have each fact once. ``left_out`` is what the reader has left out already.
    """
    counts: Counter[str] = +Counter(left_out or {})
    n_read = sum(counts.values())
    dropped: list[tuple[Fact, str]] = []
    distinct: dict[tuple[str, ...], Fact] = {}
    for fact in read:
        n_read += 1
        # Facts without their own subject (SQuAD) are distinguished by their prompt.
        key = (fact.relation, fact.about, fact.object, fact.prompt if several_prompts else "")
        if not fact.object:
            dropped.append((fact, NO_ANSWER))
        elif fact.prompt.count(MASK) != 1:
            dropped.append((fact, NOT_ONE_MASK))
        elif key in distinct:
            dropped.append((fact, DUPLICATE))
        else:
            distinct[key] = fact
    counts.update(reason for _, reason in dropped)
    return FactSet(probe_set, tuple(distinct.values()), n_read, dict(counts), template_set, tuple(dropped))


def restrict(facts: FactSet, reason_of: Callable[[Fact], str | None]) -> FactSet:
    """Drops the facts for which ``reason_of`` names a reason, and counts them under it."""
    counts: Counter[str] = Counter(facts.left_out)
    remaining, dropped = [], []
    for fact in facts.facts:
        reason = reason_of(fact)
        if reason is None:
            remaining.append(fact)
        else:
            counts[reason] += 1
            dropped.append((fact, reason))
    return FactSet(
        facts.probe_set, tuple(remaining), facts.n_read, dict(counts), facts.template_set, (*facts.dropped, *dropped)
    )


def facts_sha256(facts: Sequence[Fact], answers: Sequence[int] | Sequence[Sequence[int]]) -> str:
    """Checksum of a configuration's facts: sha256 over ids, prompts and the token or tokens of answers in order."""
    digest = hashlib.sha256()
    for fact, answer in zip(facts, answers, strict=True):
        digest.update(json.dumps([fact.fact_id, fact.prompt, answer], ensure_ascii=False).encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class Relation:
    """A relation of a probe set."""

    name: str
    probe_set: str
    #: What a reader sees, "place of birth".
    label: str
    #: ``1-1``, ``1-N``, ``N-1``, ``N-M`` or ``""`` if it is unknown.
    cardinality: str = ""
    #: Template set -> template with one ``[X]`` and one ``[Y]``.
    templates: dict[str, str] = field(default_factory=dict)
    #: Templates that state triples in a model's training text; never used for probing.
    training: tuple[str, ...] = ()


def checked(template: object, where: str) -> str:
    """The template, which has exactly one ``[X]`` and ``[Y]``; else a ``FactsError`` names ``where`` it is."""
    if not isinstance(template, str):
        raise FactsError(f"{where}: template is {template!r}, expected text with one [X] and one [Y]")
    if template.count("[X]") != 1 or template.count("[Y]") != 1:
        raise FactsError(f"{where}: template {template!r} needs exactly one [X] and exactly one [Y]")
    return template


def read_relations(path: Path) -> dict[str, Relation]:
    """Reads the project's own ``relations.toml``."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FactsError(f"no file of relations at {path}; expected relations.toml as in data/facts") from None
    except OSError as error:
        raise FactsError(f"cannot read {path}: {error}; expected relations.toml as in data/facts") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FactsError(f"{path} is not TOML: {error}") from error
    relations = {}
    for name, table in tables.items():
        if not isinstance(table, dict) or not isinstance(table.get("probe_set"), str):
            raise FactsError(f"{path}, {name}: got {table!r}, expected a table with the key probe_set")
        fixed = {"probe_set", "label", "cardinality", "training"}
        templates = {key: checked(text, f"{path}, {name}, {key}") for key, text in table.items() if key not in fixed}
        training = tuple(checked(text, f"{path}, {name}, training") for text in table.get("training", ()))
        relations[name] = Relation(
            name, table["probe_set"], table.get("label", name), table.get("cardinality", ""), templates, training
        )
    return relations


def shipped_relations() -> dict[str, Relation]:
    """The relations that ship with the project; none if the package is installed without the repository."""
    if not has_data():
        return {}
    return read_relations(FACTS_FOLDER / "relations.toml")
