"""The figures of factual knowledge, as on their pages."""

from typing import TYPE_CHECKING, Any

from probing.api.stored.argument_values import only
from probing.api.stored.facts import OneFact, refuse_counted
from probing.api.stored.looks import ModelLooks
from probing.api.stored.shown_runs import laid_over, one_run, tuned_pair
from probing.core.errors import FigureError, OptionError
from probing.figures import theme
from probing.figures.knowledge.alluvial import alluvial
from probing.figures.knowledge.layer_curve import metric_curve
from probing.figures.knowledge.relation_map import relation_map
from probing.figures.knowledge.total_bars import total_bars
from probing.figures.shown_runs import set_name
from probing.figures.tokens.rank_lines import run_rank_lines
from probing.figures.tokens.stored_fact import compared_runs, rank_table, ranks_by_layer, token_rows
from probing.figures.tokens.token_grid import token_grid
from probing.reports.knowledge.forgotten_relations import forgotten
from probing.reports.knowledge.precision import by_layer, precision_by_relation
from probing.reports.knowledge.runs import RunSelection
from probing.reports.knowledge.total import in_bar_order, total
from probing.reports.knowledge.transitions import transitions
from probing.reports.runs import base_of
from probing.reports.shown_baselines import shown_baselines
from probing.store.database import Database

if TYPE_CHECKING:
    from probing.figures.theme import go

#: Maximum number of tokens per layer in a grid.
MAX_TOKENS = 5
#: The rank up to which a fact counts as known, and the kind of mean.
Cell = tuple[int, str]


def curve_figure(
    db: Database, names: RunSelection, cell: Cell, layers: tuple[int, ...] | None, looks: ModelLooks
) -> "go.Figure":
    """The layer curves; see ``Plots.curve``."""
    runs, (k, average) = laid_over(db, names), cell
    points = shown_baselines(only(by_layer(db, tuple(runs["run_id"]), f"p_at_{k}", average), "layer", layers))
    return metric_curve(
        points, metric=f"p_at_{k}", average=average, colours=looks.colours, labels=looks.labels, controls=looks.controls
    )


def total_figure(db: Database, names: RunSelection, cell: Cell, looks: ModelLooks) -> "go.Figure":
    """Home's bars; see ``Plots.total``."""
    runs, (k, average) = laid_over(db, names), cell
    table = shown_baselines(in_bar_order(total(db, tuple(runs["run_id"]), (k,), (average,)), runs))
    sets = {name: set_name(name) for name in table["probe_set"]}
    return total_bars(table, k=k, colours=looks.colours, names=sets, labels=looks.labels)


def forgotten_figure(db: Database, names: RunSelection, k: int, definition: str | None) -> "go.Figure":
    """The map of relations of one run; see ``Plots.forgotten``."""
    run = one_run(db, names)
    points = shown_baselines(precision_by_relation(db, (run["run_id"],), k))
    if definition is not None:
        by_definition = forgotten(db, (run["run_id"],), (k,), (definition,))
        gone = by_definition["names"].iloc[0] if len(by_definition) else ()
        if not gone:
            return theme.empty(f"By the definition “{definition}” this run has forgotten no relation at rank ≤ {k}.")
        points = points[points["relation"].isin(gone)]
    return relation_map(points, k=k)


def transitions_figure(db: Database, names: RunSelection, k: int, base: str | None, looks: ModelLooks) -> "go.Figure":
    """The Compare page's flow of one pair; see ``Plots.transitions``."""
    pair = tuned_pair(db, names, base)
    table = transitions(db, pair, (k,))
    if table.empty or not table["n"].iloc[0]:
        raise FigureError(
            f"no fact was asked of both {pair['model'].iloc[0]} and {pair['base'].iloc[0]}; change model or probe_set"
        )
    row: dict[str, Any] = table.iloc[0].to_dict()
    return alluvial(row, base=row["base"], model=row["model"], colours=looks.colours, labels=looks.labels)


def ranks_figure(one: OneFact, run: Any, looks: ModelLooks) -> "go.Figure":
    """The Facts page's ranks of one fact through the layers; see ``Plots.facts``.

    Args:
        one: the fact.
        run: the run of the list.
        looks: names and colours of the models.
    """
    first = [model for model in (run["model"], base_of(run)) if model]
    runs = compared_runs(one.runs, list(one.rows["run_id"]), run["head"], (*first, *looks.colours))
    table = rank_table(runs, one.rows)
    return run_rank_lines(table, colours=looks.colours, labels=looks.labels, controls=looks.controls)


def tokens_figure(one: OneFact, run: Any, dark: bool) -> "go.Figure":
    """The Facts page's grid of tokens; see ``Plots.fact``."""
    refuse_counted(run)
    run_rows = one.rows[one.rows["run_id"] == run["run_id"]]
    tokens = token_rows(run_rows)
    if tokens.empty:
        raise OptionError(f"{run['model']} with {run['head']} heads was not asked this fact; change model or head")
    columns = min(int(tokens["place"].max()), MAX_TOKENS)
    return token_grid(
        tokens, columns=columns, ranks=ranks_by_layer(run_rows), ranked=str(one.about["object"]), dark=dark
    )
