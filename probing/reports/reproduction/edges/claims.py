"""The rules on the edge-probing paper's claims, in words; their code is in the other modules called ``claims_``."""

from probing.reports.reproduction.edges import claims_order as order
from probing.reports.reproduction.edges import claims_scores as scores
from probing.reports.reproduction.edges import claims_weights as weights
from probing.reports.reproduction.findings import Rule

_F1 = "F1 of the cumulative probes P(0) to P(L), development set"
_WEIGHTS = "mixing weights of P(L)"
_DRAWN = "bootstrap over seeds and sentences"
_LAYERS_UNSURE = (
    f"Cannot tell if no step is surely the wrong way and some 95 % interval contains 0 ({_DRAWN}), or if an expected layer is not "
    "resolved, because F1(L) - F1(0) is not surely above 0 or is below 1 point."
)
_SEEDS = (
    "Intervals of weights are over seeds (Student's t, with one variance for all tasks with several seeds). If no task has several seeds, "
    "there are no intervals and the rule cannot tell."
)
_STEPS_UNSURE = f"Cannot tell if neither is so and some 95 % interval crosses 0 ({_DRAWN})."

#: Claim (a name in ``data/published``) -> its rule.
RULES: dict[str, Rule] = {
    "tasks come in the order of the pipeline": Rule(
        _F1,
        "Holds if the expected layer rises from part of speech to constituents, dependencies, semantic roles and coreference (those that "
        "were trained, at least three). Does not hold if one step is surely no rise.",
        _LAYERS_UNSURE, order.in_order,
    ),
    "entities come after parsing": Rule(
        _F1,
        "Holds if the expected layer of entities lies between those of dependencies and semantic roles. Does not hold if it surely lies "
        "below the one or above the other.",
        _LAYERS_UNSURE, order.entities_between,
    ),
    "both metrics give one order": Rule(
        _WEIGHTS,
        "Holds if the centre of gravity rises from part of speech to constituents, dependencies, semantic roles and coreference (those "
        "that were trained, at least three). Does not hold if one step is surely no rise.",
        f"Cannot tell if an interval contains 0. {_SEEDS}", order.centres_in_order,
    ),
    "both sizes give one order": Rule(
        f"{_F1}, of two pre-trained encoders of different depth",
        "Holds if the expected layers of the two encoders have a rank correlation of at least 0.8 over the tasks that both resolve (at "
        "least four).",
        "Cannot tell if the interval crosses 0.8: 1,000 draws, each expected layer drawn uniformly from its own 95 % interval.",
        order.same_order,
    ),
    "tasks stay where they are relative to the top": Rule(
        f"{_F1}, and {_WEIGHTS}, of two pre-trained encoders of different depth",
        "Holds if expected layer and centre of gravity of every task, as shares of the depth, differ by at most a tenth between the two "
        "encoders. Does not hold if one difference is surely larger.",
        f"Cannot tell if none is surely larger and some interval crosses a tenth. {_SEEDS}", order.same_places,
    ),
    "syntax is more localisable": Rule(
        f"{_WEIGHTS}, and {_F1}",
        "Holds if K(s) and K(Δ) of part of speech, constituents and dependencies are each above those of proto-roles and of relations "
        "(those that were trained). Does not hold if one is surely not.",
        f"Cannot tell if none is surely the wrong way and some interval contains 0. Noise raises K(Δ). {_SEEDS}",
        weights.syntax_localisable,
    ),
    "weights of relations and proto-roles are nearly uniform": Rule(
        _WEIGHTS,
        "Holds if K(s) is at most 0.05 bits in both tasks (or in the only one trained). Does not hold if one is surely above.",
        f"Cannot tell if an interval crosses 0.05. {_SEEDS}", weights.semantics_uniform,
    ),
    "entity weights are weakly concentrated": Rule(
        _WEIGHTS,
        "Holds if K(s) of entities is below that of constituents, dependencies, semantic roles and coreference (those that were "
        "trained), and their centre of gravity lies above the middle layer.",
        f"Cannot tell if neither surely fails and some interval crosses its limit. {_SEEDS}", weights.entities_weak,
    ),
    "weights lie above the gains": Rule(
        f"{_WEIGHTS}, and {_F1}",
        "Holds if the centre of gravity is above the expected layer in every task whose expected layer is resolved. Does not hold if one "
        "is surely not above.",
        f"Cannot tell if none is surely below and some interval of the difference contains 0. {_SEEDS}", weights.weights_above_gains,
    ),
    "weights lie in the middle": Rule(
        _WEIGHTS,
        "Holds if in more than half of the tasks the layers from 9/24 to 20/24 of the depth together have more weight than under uniform "
        "weights. Does not hold if in half of the tasks they surely do not.",
        f"Cannot tell if the sure ones do not decide. {_SEEDS}", weights.weights_in_the_middle,
    ),
    "most is solved early": Rule(
        _F1,
        "Holds if in more than half of the tasks the first 7/24 of the layers give more than half of F1(L) - F1(0). Does not hold if in "
        "half of the tasks they surely give less.",
        f"Cannot tell if the sure ones do not decide: 95 % intervals of the gain up to there minus the gain thereafter ({_DRAWN}).",
        scores.solved_early,
    ),
    "entities are solved in layer 1 with a long tail": Rule(
        _F1,
        "Holds if layer 1 adds more to the F1 of entities than any other layer and the upper half of the layers still adds to it. Does not "
        "hold if one of the two surely fails.",
        _STEPS_UNSURE, scores.long_tail,
    ),
    "relations and proto-roles improve to the top": Rule(
        _F1,
        "Holds if F1 of both tasks (or of the only one trained) rises over the last third of the layers. Does not hold if one surely does "
        "not rise.",
        _STEPS_UNSURE, scores.improves_to_the_top,
    ),
    "more layers help": Rule(
        _F1,
        "Holds if in more than half of the tasks F1 over layers 1 to L has a rank correlation of at least 0.8 with the layer. Does not "
        "hold if it is surely lower in half of the tasks.",
        f"Cannot tell if the sure ones do not decide ({_DRAWN}; noise lowers a rank correlation, so the interval "
        "reaches as far up as down).",
        scores.more_layers_help,
    ),
    "the last layers lose": Rule(
        _F1,
        "Holds if in more than half of the tasks F1 surely falls at one of the last two layers. Does not hold if in half of the tasks it "
        "surely falls at neither.",
        f"Cannot tell if the sure ones do not decide ({_DRAWN}).", scores.last_layers_lose,
    ),
    "most tags need no context": Rule(
        f"{_F1}: P(0) of part of speech",
        "Holds if F1 of P(0) on part of speech is 87 to 91 per cent.",
        f"Cannot tell if its 95 % interval crosses an end of that range ({_DRAWN}). Other data have other tags: "
        "the paper's are OntoNotes'.",
        scores.tags_without_context,
    ),
    "single sentences leave the order": Rule(
        "stored predictions: the layer from which the prediction for each target no longer changes, by sentence",
        "Holds if for more than half of the pairs of tasks of the pipeline a target of the later task settles before one of the earlier "
        "task in at least a tenth of the sentences that have both. Does not hold if for half of the pairs it is surely less.",
        "Cannot tell if the sure pairs do not decide (Wilson's 95 % intervals).", scores.sentences_leave_the_order,
    ),
}  # fmt: skip
