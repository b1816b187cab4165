"""``probing own``, ``own-report``, ``space`` and ``delete``: your model on your facts, and the disk space it takes."""

import json
import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from probing.facts.sources import own_facts, own_probe_set
from probing.kernel.commands import command, printed_or_written
from probing.kernel.errors import FactsError, StoreError
from probing.kernel.files import result_folders
from probing.kernel.models.names import BERT, find_entry
from probing.kernel.options import spelled
from probing.kernel.registry import name_in_files
from probing.own_model.check import in_bytes, in_minutes, refuse_unfit
from probing.own_model.requests import BertRequest, OwnReportRequest, OwnRequest
from probing.own_model.run import OfBert, Wish, bert_folder, carry_out, find_run, placed, prepare, prepare_bert


class What(StrEnum):
    """What can be deleted."""

    run = "run"
    facts = "facts"
    model = "model"


def delete(
    what: Annotated[What, typer.Argument(help="run, facts (a probe set with all its runs) or model.")],
    name: Annotated[
        str, typer.Argument(help="As `space` lists it: id of the run, name of the probe set or of the model.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before it is deleted.")] = False,
) -> None:
    """Delete a run, a probe set with all its runs, or a model from this machine; asks first.

    The pages leave out deleted results at once. What ships with the project cannot be deleted.
    """
    from probing.own_model.space import Entry
    from probing.own_model.space import delete as workflow

    def sure(entry: Entry) -> bool:
        return yes or typer.confirm(f"delete the {entry.what} {entry.name} ({entry.said}, {in_bytes(entry.size)})?")

    done = workflow(what.value, name, sure)
    typer.echo(
        "nothing was deleted"
        if done is None
        else f"deleted the {done.what} {done.name}: {in_bytes(done.size)} are free"
    )


@command(OwnRequest)
def own(request: OwnRequest) -> None:
    """Probe your model and its base on your facts, one command after the other; resumable, the page Your model shows
    the run.

    The facts are copied, and the commands' output goes to `log.txt` in the folder of the run, below `cache/own-runs`.
    """
    run = find_run(request.resume) if request.resume else None
    wish, content = (run.state.wish, b"") if run else _wished(request)
    for step in wish.steps:
        typer.echo(step.line)
    if request.plan:
        return
    run = run or prepare(wish, content, Path(wish.facts).suffix)
    typer.echo(
        f"run {run.id}; output: {run.folder / 'log.txt'}; resume it with: python -m probing own --resume {run.id}"
    )
    from probing.kernel.store.opening import open_database
    from probing.own_model.report import result_of

    carry_out(run.id, typer.echo)
    name = wish.name or find_entry(wish.model).name
    words = shlex.join(("--model", name, "--facts", wish.called))
    with open_database(*result_folders()) as db:
        try:
            found = result_of(db, name, wish.called).line
        except StoreError as error:
            found = str(error)
    typer.echo(
        f"done: {found}; read it on the page Your model, or write a report with: python -m probing own-report {words}"
    )


def _wished(request: OwnRequest) -> tuple[Wish, bytes]:
    """What is wished, and the file of facts; a wrong file and a wrong base are refused before any model is loaded."""
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
    return wish, content


@command(BertRequest)
def bert(request: BertRequest) -> None:
    """Download BERT-base and ask it all facts that ship, one command after the other; resumable, the pages then begin
    with it.

    The commands' output goes to `log.txt` in the folder of the run, below `cache/own-runs`.
    """
    from probing.own_model.bert import expected

    seconds = () if request.download else expected()
    steps = OfBert(ask=not request.download).steps
    for step, takes in zip(steps, ("440 MB, once", *map(in_minutes, seconds)), strict=True):
        typer.echo(f"{step.line}  # {takes}")
    if request.plan:
        return
    run = prepare_bert(ask=not request.download, expected=sum(seconds))
    if not request.share or not run.whole:
        carry_out(run.id, typer.echo)
    if request.share:
        from probing.sharing.push import PushRequest, push

        push(PushRequest("predictions", BERT, to_folder=request.share, runs=(bert_folder(),)), typer.echo)
        typer.echo(f"shared; it is taken with: python -m probing pull --from-folder {request.share}")
    else:
        typer.echo("done: the pages begin with it; python -m probing ask also takes --model bert-base-uncased")


@command(OwnReportRequest)
def own_report(request: OwnReportRequest) -> None:
    """Write one page in plain words on what your model knows of your facts, as HTML.

    It has the sentences, the figure and the facts of the page Your model, and needs no network.
    """
    from probing.kernel.store.opening import open_database
    from probing.own_model.figures import own_curves, report_page
    from probing.own_model.report import result_of

    with open_database(*result_folders()) as db:
        page = result_of(db, request.model, request.facts, request.k, request.measure or "")
    if request.measure not in (None, page.measure):
        raise StoreError(
            f"{request.model} on {request.facts} is stored by the measure {page.measure} only, not {request.measure};"
            " python -m probing own probes it by both"
        )
    if request.k != page.k:
        raise StoreError(
            f"{request.model} on {request.facts} is stored by the measure {page.measure} only, where the first place"
            f" counts; leave {spelled('k', request.k)} out"
        )
    out = request.out or Path(f"{name_in_files(request.model)}-{request.facts}.html")
    figure = own_curves(page.layers, base=page.base, model=page.model, k=page.k)
    printed_or_written(report_page(page.title, page.sentences, figure, page.changed, page.origin), out, str(out))


def space(as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with bytes.")] = False) -> None:
    """List the models, runs and probe sets on this machine with the space that each takes.

    What ships with the project is not listed. `delete` deletes any of them.
    """
    from probing.own_model.space import WHAT, list_entries

    items = list_entries()
    if as_json:
        typer.echo(
            json.dumps(
                [{"what": item.what, "name": item.name, "said": item.said, "bytes": item.size} for item in items]
            )
        )
        return
    for what in WHAT:
        of_kind = [item for item in items if item.what == what]
        typer.echo(f"{what}: {len(of_kind):,}, {in_bytes(sum(item.size for item in of_kind))}")
        for item in of_kind:
            typer.echo(f"  {in_bytes(item.size):>9}  {item.name}  {item.said}")
