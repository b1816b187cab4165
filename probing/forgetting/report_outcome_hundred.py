"""Of 100 facts that the base knew: how many are kept, by which way the others come back, and how many do not."""

import pandas as pd

from probing.forgetting.memory_memory import MEMORY
from probing.forgetting.report_outcome import in_words
from probing.forgetting.report_outcome_runs import usual
from probing.forgetting.ways import (
    AS_IN_BASE,
    BACK,
    FITTED_HEAD,
    GAINED,
    KEPT,
    LAYERS_BACK,
    MOVED,
    NOT_RECOVERED,
    OTHER_LAYER,
    RELEARNED,
    WAYS,
    usual_protocol,
)
from probing.kernel.stats.intervals import whole_shares

#: Part -> the outcomes that it counts; together they are all facts that the base knew.
PARTS = {
    KEPT: (KEPT,),
    OTHER_LAYER: (AS_IN_BASE, MOVED),
    FITTED_HEAD: (FITTED_HEAD,),
    LAYERS_BACK: (LAYERS_BACK,),
    RELEARNED: (RELEARNED,),
    NOT_RECOVERED: (NOT_RECOVERED,),
}


def hundred(
    outcome: pd.DataFrame, tests: pd.DataFrame, ways: pd.DataFrame, gained: tuple[int, int] = (0, 0)
) -> pd.DataFrame:
    """The parts of 100 known facts of one model, cheap ways first, and one for what was gained.

    ``gained``: facts that only the fine-tuned model knows, and facts that the base knows; zeros if not both were asked.
    ``of_100`` are whole numbers that add up to 100 without the gained ones, ``per_100`` is exact. ``shown``: the way
    passes the test of memory, whose words are ``test``. ``share: ...`` is of all lost facts that the way by itself
    brings back, ``yardstick: ...`` of that yardstick.
    """
    stored = outcome.set_index("part")
    tested = {test.way: test for test in tests.itertuples() if test.protocol == usual_protocol(test.way)}
    sizes = {part: int(stored.loc[list(of), "n"].sum()) for part, of in PARTS.items()}
    known, rows = max(1, sum(sizes.values())), []
    for (part, n), whole in zip(sizes.items(), whole_shares(list(sizes.values())), strict=True):
        test = tested.get(part)
        row = {
            "part": part,
            "kind": BACK if part in WAYS else part,
            "n": n,
            "of_100": whole,
            "per_100": 100 * n / known,
        }
        row |= {"shown": test is not None and test.verdict == MEMORY, "test": "" if test is None else in_words(test)}
        rows.append(row | {"note": next((note for note in stored.loc[list(PARTS[part]), "note"] if note), "")})
    if gained[1]:
        share = 100 * gained[0] / gained[1]
        rows.append(
            {"part": GAINED, "kind": GAINED, "n": gained[0], "of_100": round(share), "per_100": share, "shown": True}
        )
    table = pd.DataFrame(rows).fillna({"test": "", "note": ""})
    yardstick_rows = usual(ways).pivot_table(
        index="way", columns="yardstick", values=["share", "yardstick_share"], sort=False
    )
    yardstick_rows.columns = [
        f"{'share' if value == 'share' else 'yardstick'}: {yardstick}" for value, yardstick in yardstick_rows.columns
    ]
    return table.merge(yardstick_rows, left_on="part", right_index=True, how="left")
