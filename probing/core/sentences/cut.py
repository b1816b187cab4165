"""A smaller draw of a task's data."""

from dataclasses import replace

from probing.core.sentences.example import PARTS, SentenceData

#: The most sentences of all parts together that a page asks a model at once; more are for the command line.
MOST_AT_ONCE = 2_000


def cut_to(data: SentenceData, most: int) -> SentenceData:
    """The data with at most so many sentences: of each part the beginning, in the parts' proportions, with whole rounds of classes.

    Args:
        data: whose parts begin with equal numbers of each class.
        most: sentences of all parts together; every part keeps one of each class at least.
    """
    total = sum(len(data.parts[part]) for part in PARTS)
    if total <= most:
        return data
    classes = len(data.labels)
    kept = {part: max(classes, len(data.parts[part]) * most // total // classes * classes) for part in PARTS}
    return replace(data, parts={part: data.parts[part][: kept[part]] for part in PARTS})
