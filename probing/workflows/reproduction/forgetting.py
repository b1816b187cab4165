"""How the claims on forgetting are judged: every fine-tuned model of a family is asked for the facts that it lost."""

from probing.reports.reproduction.forgetting.paper import FORGETTING
from probing.workflows.forgetting.recover import recover
from probing.workflows.output import Say
from probing.workflows.reproduction import steps
from probing.workflows.reproduction.plan import Plan, Procedure
from probing.workflows.requests.forgetting import RecoverRequest
from probing.workflows.requests.reproduction import Stage


def _fetch(plan: Plan, say: Say) -> None:
    steps.fetch(plan, ["wikitext-2"], say)


def _measure(plan: Plan, say: Say) -> None:
    request = plan.request
    for member in plan.members:
        recover(RecoverRequest(member.model, device=request.device, text=request.valid), say)


REPRODUCE_FORGETTING = Procedure(
    FORGETTING,
    "Claims on forgetting, {family.base}",
    prefix="forgetting-",
    members=lambda request, family: tuple(family.members),
    steps={Stage.fetch: _fetch, Stage.measure: _measure, Stage.tables: steps.compare},
)
