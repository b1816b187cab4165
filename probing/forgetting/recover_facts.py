"""The facts that models are asked before and after a training."""

from probing.facts.fact import FactSet, shipped_relations
from probing.facts.sources import read_facts
from probing.kernel.errors import FactsError, Say
from probing.kernel.options import spelled


def one_set(facts: str, own_name: str | None = None, say: Say = print, templates: str | None = None) -> FactSet:
    """The facts that a name or a path gives, as ``read_facts`` takes it; refused if they are several probe sets.

    ``own_name`` None calls the user's own facts by their file's name; ``say`` gets how a table of the user's was read.
    """
    sets = read_facts(facts, shipped_relations(), templates, own_name=own_name)
    if len(sets) != 1:
        names = ", ".join(one.probe_set for one in sets)
        raise FactsError(f"got the probe sets {names} with {spelled('facts', facts)}; expected one of them")
    if sets[0].said:
        say(f"{sets[0].probe_set}: {sets[0].said}")
    return sets[0]
