"""From a family's name to the tables of a paper; resumable, finished steps are skipped."""

from probing.kernel.errors import OptionError, Say
from probing.papers.reproduce import REPRODUCE_BERTNESIA
from probing.papers.reproduce_edge_probing import REPRODUCE_EDGE_PROBING
from probing.papers.reproduce_forgetting import REPRODUCE_FORGETTING
from probing.papers.reproduce_interplay import REPRODUCE_INTERPLAY
from probing.papers.reproduce_plan import planned
from probing.papers.requests import ReproduceRequest

PROCEDURES = {
    procedure.paper.name: procedure
    for procedure in (REPRODUCE_BERTNESIA, REPRODUCE_EDGE_PROBING, REPRODUCE_INTERPLAY, REPRODUCE_FORGETTING)
}


def reproduce(request: ReproduceRequest, say: Say = print) -> None:
    """Does the stages of a paper, or one of them."""
    procedure = PROCEDURES[request.paper]
    plan, only = planned(request, procedure), request.only
    if only is not None and only not in procedure.steps:
        raise OptionError(f"got the stage {only.value!r}; --paper {request.paper} has {', '.join(procedure.steps)}")
    stages = [only] if only is not None else list(procedure.steps)
    procedure.begin(plan, say)
    for number, stage in enumerate(stages, 1):
        say(f"== {procedure.title.format(family=plan.family)}, stage {number} of {len(stages)}: {stage.value}")
        procedure.steps[stage](plan, say)
