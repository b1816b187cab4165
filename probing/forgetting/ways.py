"""The ways by which a lost fact can come back, and the configurations whose fingerprints name runs and series."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probing.kernel.provenance import Provenance

#: The same head reads the answer at a layer below the last.
OTHER_LAYER = "another layer"
#: A head fitted to the fine-tuned model's last layer in closed form, on text without facts, reads the answer.
FITTED_HEAD = "fitted head"
#: The answer is back when some of the last layers are the base's again, at most half of all.
LAYERS_BACK = "layers put back"
#: The answer is back after training steps on other lost facts with other answers, of other subjects.
RELEARNED = "relearned"
WAYS = (OTHER_LAYER, FITTED_HEAD, LAYERS_BACK, RELEARNED)
#: What at least one of the ways brings back.
BY_ANY = "one of the ways"
#: A fact that both models know.
KEPT = "kept"
#: A lost fact that the head reads at a layer at which it reads it in the base, too, or only at others.
AS_IN_BASE, MOVED = "another layer, as in the base", "another layer, moved there"
#: A lost fact that comes back by none of the ways. It says nothing about other ways.
NOT_RECOVERED = "not recovered"
#: What becomes of a fact that the base knows; the first that holds.
LOST_OUTCOMES = (AS_IN_BASE, MOVED, FITTED_HEAD, LAYERS_BACK, RELEARNED, NOT_RECOVERED)
OUTCOMES = (KEPT, *LOST_OUTCOMES)
#: What the lost facts are listed by -> the outcomes that it stands for.
LISTED_BY = {OTHER_LAYER: (AS_IN_BASE, MOVED), **{outcome: (outcome,) for outcome in LOST_OUTCOMES}}
#: What is said of all ways together, and of facts that only the fine-tuned model knows.
BACK, GAINED = "comes back", "gained"
#: Training steps after which a relearning model is asked, and those that count for the outcome.
STEPS = (5, 15, 45)
USUAL_STEPS = 15
#: A way with several levels brings a fact back if any of them does.
ANY = 0
#: The fine-tuned model as it is, for ways without training.
AS_IT_IS = "fine-tuned model"
#: Relearning: no answer, or no subject, is in two parts.
BY_ANSWER, BY_SUBJECT = "split by answer", "split by subject"
#: From a body with random layers on the fine-tuned embeddings; relearning is split by answer.
RANDOM_BODY = "random body"
RELEARNED_BY = (BY_ANSWER, BY_SUBJECT, RANDOM_BODY)
#: Relearning with as many lessons of one kind, split by answer: name in the command -> protocol.
LESSONS = {
    "same": "lessons: same relations and wording",
    "wording": "lessons: other wording",
    "relations": "lessons: other relations",
    "unlike": "lessons: other relations and wording",
    "kept": "lessons: kept facts",
}
PROTOCOLS = (AS_IT_IS, *RELEARNED_BY, *LESSONS.values())


def usual_level(way: str) -> int:
    """The level of a way that its outcome counts."""
    return USUAL_STEPS if way == RELEARNED else ANY


def usual_protocol(way: str) -> str:
    """The protocol of a way that its outcome counts."""
    return BY_ANSWER if way == RELEARNED else AS_IT_IS


def called(way: str, protocol: str) -> str:
    """A way in words, with the protocol where there are several."""
    return f"{way}, {protocol}" if way == RELEARNED else way


@dataclass(frozen=True)
class Tried:
    """What one way brought back at levels: layers, layers put back, or steps."""

    way: str
    protocol: str
    levels: tuple[int, ...]
    #: Group -> (seeds, levels, answers) whether each is right again; one seed for ways without training.
    back: Mapping[str, NDArray[np.bool_]]

    def at(self, level: int, group: str) -> NDArray[np.bool_]:
        """(seeds, answers) whether an answer comes back at a level, or at any of them."""
        back = self.back[group]
        return np.asarray(back.any(1) if level == ANY else back[:, self.levels.index(level)])


#: What a second wording shows of a lost fact.
THIS_WORDING, IN_GENERAL, NOT_OTHERWISE = REWORDED = (
    "lost for this wording",
    "lost in both wordings",
    "the base does not know it in the other wording",
)


def reworded(known_before: bool, known_now: bool) -> str:
    """What a second wording shows of a lost fact, by whether base and fine-tuned model know it in that."""
    if known_now:
        return THIS_WORDING
    return IN_GENERAL if known_before else NOT_OTHERWISE


class ForgettingRunConfig(Provenance):
    """All that decides the numbers of a run; ``seed`` is the first of its seeds, of parts and relearning."""

    base_weights: str
    probe_set: str
    template_set: str
    facts_sha256: str
    k: int
    seeds: int
    most_relearned: int
    #: Facts that each yardstick takes.
    most_pairs: int
    relearning: str
    #: Of the text that the head is fitted to, of which ``positions`` pieces are masked.
    text_sha256: str
    positions: int
    #: Of what is known of the base's training text, by fact; empty if nothing is.
    exposure_sha256: str = ""
    #: Template set in whose wording lost facts are asked once more; empty: none.
    other_templates: str = ""
    other_sha256: str = ""
    #: Facts that the base was taught before the same fine-tuning was done again.
    planted: int = 0
    #: Recipe of savings, as canonical JSON; empty: none were measured.
    savings: str = ""
    #: Of ``LESSONS``, in this order.
    lessons: tuple[str, ...] = ()
    #: Of the prompts of another set, whose kept facts are taught if this one has too few; empty: there is none.
    besides_sha256: str = ""


#: What reads the layers.
OWN_HEAD, HEAD_OF_THE_BASE = "the model's own head", "the base's head"


class SeriesRunConfig(Provenance):
    """All that decides the counts of a series; ``weights`` are the last state's, ``seed`` is 0: nothing is trained.

    A training whose weights were not kept is identified by ``variant`` and ``tuned_seed``, as in the row of the run.
    """

    base_weights: str
    #: Of each state, as canonical JSON by step; empty for a training that was asked while it ran.
    state_weights: str = ""
    steps: tuple[int, ...]
    asked_layers: tuple[int, ...]
    probe_set: str
    template_set: str
    #: Of the facts in their order, with prompts and answer tokens.
    facts_sha256: str
    protection: str = ""
    variant: str = ""
    tuned_seed: int = 0
    #: Of the scores of the points of a line; empty without.
    scored: str = ""


#: In place of what a training did against forgetting, where the states are means of the weights of base and model.
LINE = "line"
