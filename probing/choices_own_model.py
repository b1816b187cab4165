"""What is chosen on the page of own models."""

from dataclasses import dataclass

from probing.kernel.app.selection import declared, one_of
from probing.own_model.space import WHAT

TABS = {"facts": "Facts", "curve": "Curve", "ways": "Ways back", "new": "A run of your own", "space": "Space"}


@declared("own_model")
@dataclass(frozen=True)
class OwnModelSelection:
    """The page's own choices. An empty text means none, or the newest run.

    Models are typed: folders, hub ids or names. A link alone never makes the server contact the hub.
    """

    my_model: str = ""
    my_base: str = ""
    my_others: tuple[str, ...] = ()
    my_space: str = one_of(WHAT)
    my_run: str = ""
    my_k: int = one_of((1, 10))
    own_tab: str = one_of(tuple(TABS))
