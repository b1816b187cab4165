"""``probing family``: make all that ships of nesia-mini's family after the base."""

from typing import Annotated

import typer


def family(
    jobs: Annotated[int, typer.Option(min=1, help="Steps at a time, each with one thread.")] = 2,
    plan: Annotated[bool, typer.Option("--plan", help="Only list the steps and the hours that are left.")] = False,
    layer_drop: Annotated[
        bool, typer.Option("--layer-drop", help="The small bases with and without LayerDrop instead.")
    ] = False,
    step: Annotated[str | None, typer.Option(help="Do one step, by its name in the plan.")] = None,
) -> None:
    """Runs every step that is not done, each in another process with one thread, and stores the results.

    Whether everything is made; a ProbingError if steps failed, with which the next call goes on.
    """
    from data.making import family as workflow
    from data.making import layer_drop as comparison
    from data.making.plan import steps

    if step is not None:
        workflow.run_step(step, typer.echo)
        return
    if plan:
        for line in workflow.names(comparison.steps() if layer_drop else steps()):
            typer.echo(line)
    (workflow.small_bases if layer_drop else workflow.family)(jobs, plan, typer.echo)
