"""``probing own``: probe your model and its base on your facts."""

import shlex

import typer

from probing.facts.sources import own_facts, own_probe_set
from probing.kernel.commands import command
from probing.kernel.errors import FactsError
from probing.kernel.models.names import find_entry
from probing.own_model.check import refuse_unfit
from probing.own_model.requests import OwnRequest
from probing.own_model.run import OwnRun, carry_out, find_run, prepare
from probing.own_model.run_wish import Wish, placed


@command(OwnRequest)
def own(request: OwnRequest) -> None:
    """Probe your model and its base on your facts, one command after the other; resumable, the page Your model shows
    the run.

    The facts are copied, and the commands' output goes to `log.txt` in the folder of the run, below `cache/own-runs`.
    """
    run = find_run(request.resume) if request.resume else _prepared(request)
    for step in run.state.wish.steps:
        typer.echo(step.line)
    if request.plan:
        return
    typer.echo(
        f"run {run.id}; output: {run.folder / 'log.txt'}; resume it with: python -m probing own --resume {run.id}"
    )
    carry_out(run.id, typer.echo)
    wish = run.state.wish
    words = shlex.join(("--model", wish.name or find_entry(wish.model).name, "--facts", wish.called))
    typer.echo(f"done; read it on the page Your model, or write a report with: python -m probing own-report {words}")


def _prepared(request: OwnRequest) -> OwnRun:
    """The run of new wishes; a wrong file and a wrong base are refused before any model is loaded."""
    assert request.model and request.facts
    called = own_probe_set(request.facts, request.called)
    try:
        content = request.facts.expanduser().read_bytes()
    except OSError as error:
        raise FactsError(f"cannot read {request.facts}: {error}; expected a file of facts") from error
    if note := own_facts(content, str(request.facts), called).said:
        typer.echo(f"{request.facts}: {note}")
    for model in (request.model, *request.also):
        refuse_unfit(model, request.base or "")
    wish = Wish(
        model=placed(request.model),
        base=placed(request.base) if request.base else "",
        facts=str(request.facts),
        called=called,
        name=request.name or "",
        trex=request.trex,
        recover=request.recover,
        others=tuple(placed(model) for model in request.also),
    )
    return prepare(wish, content, request.facts.suffix)
