"""``probing own-report``: one page in plain words on a user's own model."""

from pathlib import Path

from probing.kernel.commands import command, printed_or_written
from probing.kernel.files import result_folders
from probing.kernel.registry import name_in_files
from probing.own_model.requests import OwnReportRequest


@command(OwnReportRequest)
def own_report(request: OwnReportRequest) -> None:
    """Write one page in plain words on what your model knows of your facts, as HTML.

    It has the sentences, the figure and the facts of the page Your model, and needs no network.
    """
    from probing.kernel.store.opening import open_database
    from probing.own_model.figures import own_curves, report_page
    from probing.own_model.report import result_of

    with open_database(*result_folders()) as db:
        page = result_of(db, request.model, request.facts, request.k)
    out = request.out or Path(f"{name_in_files(request.model)}-{request.facts}.html")
    figure = own_curves(page.layers, base=page.base, model=page.model, k=page.k)
    printed_or_written(report_page(page.title, page.sentences, figure, page.changed, page.origin), out, str(out))
