"""What each kind of fact lost between two models, the worst loss first; net losses where only counts are stored."""

from collections.abc import Sequence

import pandas as pd

from probing.facts.report_layers import precision_by_relation
from probing.facts.report_pairs import transitions_by_relation
from probing.kernel.store.database import Database

#: A base that knows fewer facts of a relation is no measure of what was lost of it: such relations come last.
FEWEST = 30
COLUMNS = ("relation", "label", "n", "kept", "lost", "gained", "base_value", "value", "share_lost")


def relation_losses(
    db: Database,
    pairs: pd.DataFrame,
    k: int = 1,
    exposures: Sequence[str] | None = None,
    answer_in_subject: bool | None = None,
) -> pd.DataFrame:
    """Relations of one pair, by the share of the base's known facts that was lost.

    Where only counts are stored, ``share_lost`` is that of the net loss and ``kept, lost, gained`` are empty.
    """
    table = transitions_by_relation(db, pairs, k, exposures, answer_in_subject)
    if len(table):
        known = table["kept"] + table["lost"]
        table["share_lost"] = (table["lost"] / known.where(known > 0)).astype(float)
    else:
        table = _net(db, pairs, k, exposures, answer_in_subject)
        known = (table["base_value"] * table["n"]).round()
    enough = (known >= FEWEST).rename("enough")
    order = pd.DataFrame({"enough": enough, "share": table["share_lost"], "known": known}).sort_values(
        ["enough", "share", "known"], ascending=False, kind="stable"
    )
    return table.loc[order.index, [*COLUMNS, *(name for name in table if name not in COLUMNS)]].reset_index(drop=True)


def _net(db: Database, pairs: pd.DataFrame, k: int, exposures, answer_in_subject) -> pd.DataFrame:
    """The last layers of both runs by relation, of counts."""
    pair = pairs.iloc[0]
    points = precision_by_relation(db, [pair["base_run_id"], pair["run_id"]], k, exposures, answer_in_subject)
    last = points[points["layer"] == points.groupby("run_id")["layer"].transform("max")]
    base, model = (last[last["run_id"] == pair[name]].set_index("relation") for name in ("base_run_id", "run_id"))
    both = (
        model[["label", "n", "value"]]
        .join(base[["value"]].rename(columns={"value": "base_value"}), how="inner")
        .reset_index()
    )
    share = ((both["base_value"] - both["value"]) / both["base_value"].where(both["base_value"] > 0)).astype(float)
    return both.assign(share_lost=share, kept=float("nan"), lost=float("nan"), gained=float("nan"))
