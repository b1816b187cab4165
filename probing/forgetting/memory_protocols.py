"""What a model that lost facts is taught, and which answers it is then asked: nothing that is asked was taught."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from probing.forgetting.memory_groups import LOST, Answered, Group, Groups, drawn
from probing.forgetting.ways import BY_SUBJECT, RELEARNED_BY

#: Protocol -> parts, each of which is asked once, after lessons from the others.
PARTS = dict.fromkeys(RELEARNED_BY, 2) | {BY_SUBJECT: 5}


def part_of(facts: Answered, group: Group, protocol: str, seed: int) -> NDArray[np.int64]:
    """(answers,) number of the part in which each is asked, by a hash of its subject, else of the answer."""
    names = [facts.subjects[n].casefold() for n in group.facts] if protocol == BY_SUBJECT else group.targets.tolist()
    part_by_name = {
        name: int(hashlib.sha256(f"{seed}\n{name}".encode()).hexdigest()[:12], 16) % PARTS[protocol]
        for name in dict.fromkeys(names)
    }
    return np.array([part_by_name[name] for name in names], np.int64)


def lessons(facts: Answered, groups: Groups, protocol: str, part: int, most: int, seed: int) -> Group:
    """At most ``most`` lost facts that are taught before a part is asked: none whose answer, or subject, is in it."""
    lost = groups.of[LOST]
    allowed = part_of(facts, lost, protocol, seed) != part
    in_part = [group.some(part_of(facts, group, protocol, seed) == part) for group in groups.of.values()]
    subjects = {facts.subjects[n].casefold() for group in in_part for n in group.facts}
    allowed &= np.array([facts.subjects[n].casefold() not in subjects for n in lost.facts], bool)
    chosen = drawn(np.flatnonzero(allowed), most, seed)
    return Group(lost.facts[chosen], lost.targets[chosen])
