"""Facts and templates that a typed sentence may match."""

import pandas as pd

from probing.kernel.store.database import Database

_FROM = "FROM facts f LEFT JOIN relations l ON l.relation = f.relation AND l.probe_set = f.probe_set"
_RELATION = (
    "f.probe_set, f.relation, coalesce(f.template_set, 'default') AS template_set, coalesce(l.label, f.relation) AS"
    " label"
)
#: LAMA's large sets first, as a sentence may be in several.
_ORDER = "ORDER BY f.probe_set = 'trex' DESC, f.probe_set, f.relation, template_set"


def answers_of(db: Database, prompt: str) -> pd.DataFrame:
    """The facts that a sentence asks, without case: probe_set, relation, template_set, label, object."""
    return db.query(
        f"SELECT {_RELATION}, f.object {_FROM} WHERE lower(f.prompt) = lower($prompt) {_ORDER}, f.object",
        {"prompt": prompt},
    )


def templates(db: Database) -> pd.DataFrame:
    """Every template with a place for the subject: probe_set, relation, template_set, label, template."""
    return db.query(
        f"SELECT DISTINCT {_RELATION}, f.template, f.probe_set = 'trex' AS large {_FROM} "
        "WHERE contains(f.template, '[X]') ORDER BY large DESC, f.probe_set, f.relation, template_set, f.template"
    )


def commonest_answer(db: Database, probe_set: str, relation: str, template_set: str) -> pd.DataFrame:
    """A relation's commonest answer among its stored facts: object, hits, n; of equal ones the first by label."""
    return db.query(
        """
        SELECT object, count(*) AS hits, sum(count(*)) OVER () AS n FROM facts
        WHERE probe_set = $probe_set AND relation = $relation AND coalesce(template_set, 'default') = $template_set
        GROUP BY object ORDER BY hits DESC, object LIMIT 1
        """,
        {"probe_set": probe_set, "relation": relation, "template_set": template_set},
    )
