"""How the claims on forgetting are judged: every fine-tuned model of a family is asked for the facts that it lost."""

from probing.forgetting.recover import recover
from probing.forgetting.requests import RecoverRequest
from probing.kernel.errors import Say
from probing.papers.papers_paper import FORGETTING
from probing.papers.reproduce_plan import Plan, Procedure
from probing.papers.reproduce_steps import compare, fetch
from probing.papers.requests import Stage


def _fetch(plan: Plan, say: Say) -> None:
    fetch(plan, ["wikitext-2"], say)


def _measure(plan: Plan, say: Say) -> None:
    request = plan.request
    for member in plan.members:
        recover(RecoverRequest(member.model, device=request.device, text=request.valid), say)


REPRODUCE_FORGETTING = Procedure(
    FORGETTING,
    "Claims on forgetting, {family.base}",
    prefix="forgetting-",
    members=lambda request, family: tuple(family.members),
    steps={Stage.fetch: _fetch, Stage.measure: _measure, Stage.tables: compare},
)
