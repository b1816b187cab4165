"""From a file's rows to training, development and test examples: what is left out, and who goes where."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from probing.kernel.errors import SentenceDataError
from probing.kernel.options import spelled
from probing.sentences.examples import MAX_EXAMPLES, OURS, PARTS, SENTEVAL, Example, Labelled, SentenceData

#: Shares of training, development and test sentences.
SHARES = (0.6, 0.1, 0.3)
#: Reasons for which a row is left out, in the order in which they apply.
TWO_LABELS = "texts with two labels"
REPEATED = "repeated texts"
SAME_WORDS = "same words as a sentence of a later part"
BALANCED = "cut to balance the classes"
CAPPED = "more than the protocol takes"
#: Maximum number of sentences, in all parts together, that a page sends to a model at once; the command line takes
#: more.
MAX_AT_ONCE = 2_000


def split(task: str, rows: Sequence[Labelled], protocol: str) -> SentenceData:
    """A task's data by a protocol.

    If no row names a part, sentences are shared out by hash. If rows name two parts, the later is the test part, and
    development sentences are cut from the earlier one by hash; one part only is refused. Protocol ``senteval`` leaves
    nothing out and balances nothing.
    """
    dropped: Counter[str] = Counter()
    if protocol != SENTEVAL:
        rows, dropped = cleaned(rows)
    placed = _placed(task, rows, protocol)
    if protocol != SENTEVAL:
        _drop_same_words(placed, dropped)
    _check(task, placed)
    parts: dict[str, tuple[Example, ...]] = {}
    for place, part in enumerate(PARTS):
        examples = [row.example for row in placed[part]]
        most = MAX_EXAMPLES[protocol]
        chosen = _ordered(examples, balanced=protocol != SENTEVAL)
        dropped[BALANCED] += len(examples) - len(chosen)
        if most is not None:
            classes = len({example.label for example in chosen})
            dropped[CAPPED] += max(0, len(chosen) - most[place] // classes * classes)
            chosen = chosen[: most[place] // classes * classes]
        parts[part] = tuple(chosen)
    return SentenceData(
        task, protocol, parts, {reason: number for reason, number in dropped.items() if number}, _cut(placed, dropped)
    )


def _cut(placed: Mapping[str, Sequence[Labelled]], dropped: Counter[str]) -> str:
    """In words, which label makes more than half of the rows fall out when classes are balanced."""
    counts = Counter(row.example.label for rows in placed.values() for row in rows)
    if 2 * dropped[BALANCED] <= (total := counts.total()):
        return ""
    label, rows = min(counts.items(), key=lambda item: (item[1], item[0]))
    left = total - dropped[BALANCED]
    return f"the label {label!r} has {rows:,} of {total:,} rows, to which each class is cut: {left:,} are left"


def pooled(rows: Iterable[Labelled]) -> list[Labelled]:
    """Rows without the parts that their files give them."""
    return [replace(row, part="") for row in rows]


def cleaned(rows: Sequence[Labelled]) -> tuple[list[Labelled], Counter[str]]:
    """Rows without contradictions (all copies go) and repeats (the latest part's stays), and why others went."""
    labels = defaultdict(set)
    for row in rows:
        labels[_text(row)].add(row.example.label)
    remaining: list[Labelled] = []
    dropped: Counter[str] = Counter()
    seen = set()
    for row in sorted(rows, key=_place):
        text = _text(row)
        if len(labels[text]) > 1:
            dropped[TWO_LABELS] += 1
        elif text in seen:
            dropped[REPEATED] += 1
        else:
            seen.add(text)
            remaining.append(row)
    return remaining, dropped


def words_key(example: Example) -> str:
    """What a sentence, its copies and its inverted form have in common: its lower-case words, sorted."""
    return " ".join(sorted(f"{example.text} {example.pair}".lower().split()))


def _text(row: Labelled) -> tuple[str, str]:
    return row.example.text, row.example.pair


def _place(row: Labelled) -> int:
    return -PARTS.index(row.part) if row.part else 0


def _placed(task: str, rows: Sequence[Labelled], protocol: str) -> dict[str, list[Labelled]]:
    """Part -> its rows."""
    named = [part for part in PARTS if any(row.part == part for row in rows)]
    if not named:
        return dict(zip(PARTS, _shared_out(rows, SHARES), strict=True))
    if len(named) == 1:
        other = f"take another protocol ({spelled('protocol', OURS)}) or another file"
        advice = "name no part, or name train and test" if protocol == OURS else other
        raise SentenceDataError(
            f"{task} has {named[0]} sentences only; expected training and test sentences, or none that name a part:"
            f" {advice}"
        )
    of = {part: [row for row in rows if row.part == part] for part in named}
    if len(named) == len(PARTS):
        return of
    train, dev = _shared_out(of[named[0]], SHARES[:2])
    return dict(zip(PARTS, (train, dev, of[named[1]]), strict=True))


def _shared_out(rows: Sequence[Labelled], shares: Sequence[float]) -> list[list[Labelled]]:
    """Rows in as many parts as there are shares; a cluster stays together, in the order of hashes.

    Clusters with the same labels are shared out separately, so that every part gets its share of a rare class.
    """
    clusters = _clusters(rows)
    strata = defaultdict(list)
    for name, members in clusters.items():
        strata[tuple(sorted({row.example.label for row in members}))].append(name)
    borders = [sum(shares[:place]) / sum(shares) for place in range(1, len(shares))]
    parts: list[list[Labelled]] = [[] for _ in shares]
    for names in strata.values():
        cuts = [0, *(round(border * len(names)) for border in borders), len(names)]
        ordered = sorted(names)
        for part, start, end in zip(parts, cuts, cuts[1:], strict=False):
            part.extend(row for name in ordered[start:end] for row in clusters[name])
    return parts


def _clusters(rows: Sequence[Labelled]) -> dict[str, list[Labelled]]:
    """sha256 -> rows that must stay together: linked by the same words or group, directly or through others."""
    above: dict[str, str] = {}

    def root(key: str) -> str:
        while above.setdefault(key, key) != key:
            above[key] = key = above[above[key]]
        return key

    keys = [words_key(row.example) for row in rows]
    for key, row in zip(keys, rows, strict=True):
        if row.group:
            above[root(f"group\t{row.group}")] = root(key)
    members = defaultdict(list)
    words = defaultdict(set)
    for key, row in zip(keys, rows, strict=True):
        members[root(key)].append(row)
        words[root(key)].add(key)
    return {hashlib.sha256("\n".join(sorted(words[key])).encode()).hexdigest(): group for key, group in members.items()}


def _drop_same_words(placed: dict[str, list[Labelled]], dropped: Counter[str]) -> None:
    """Leaves out rows whose words a later part has in another order; only parts that files name can share words."""
    seen: set[str] = set()
    for part in reversed(PARTS):
        keys = [words_key(row.example) for row in placed[part]]
        remaining = [row for key, row in zip(keys, placed[part], strict=True) if key not in seen]
        dropped[SAME_WORDS] += len(keys) - len(remaining)
        placed[part] = remaining
        seen.update(keys)


def _check(task: str, placed: Mapping[str, Sequence[Labelled]]) -> None:
    labels = {part: {row.example.label for row in rows} for part, rows in placed.items()}
    for part in PARTS:
        if missing := sorted(set().union(*labels.values()) - labels[part]):
            raise SentenceDataError(
                f"{task}: the {part} part has no example of {', '.join(map(repr, missing[:5]))}; every part needs"
                " examples of every class: give more of them, smaller groups, or other parts"
            )


def _ordered(examples: Sequence[Example], balanced: bool) -> list[Example]:
    """Examples by their hashes, so that every beginning has the classes in about their proportions.

    If balanced, larger classes are cut to the size of the smallest.
    """
    classes = defaultdict(list)
    for example in examples:
        classes[example.label].append(example)
    most = min(map(len, classes.values())) if balanced else len(examples)
    ranked = []
    for label, members in classes.items():
        chosen = sorted(members, key=lambda example: example.sha256)[:most]
        ranked += [((place + 0.5) / len(chosen), label, example) for place, example in enumerate(chosen)]
    return [example for _, _, example in sorted(ranked, key=lambda entry: entry[:2])]


def cut_to(data: SentenceData, most: int) -> SentenceData:
    """At most ``most`` sentences: the beginning of each part, in their proportions and whole rounds of classes."""
    total = sum(len(data.parts[part]) for part in PARTS)
    if total <= most:
        return data
    classes = len(data.labels)
    sizes = {part: max(classes, len(data.parts[part]) * most // total // classes * classes) for part in PARTS}
    return replace(data, parts={part: data.parts[part][: sizes[part]] for part in PARTS})
