"""What is chosen on the page of methods."""

from dataclasses import dataclass

from probing.kernel.app.selection import declared, one_of

TABS = {
    "glossary": "Glossary",
    "metrics": "Metrics",
    "data": "Data and licences",
    "models": "Models",
    "runs": "Runs",
    "differences": "Differences from the papers",
    "cite": "Cite",
}


@declared("methods")
@dataclass(frozen=True)
class MethodsSelection:
    """The page's own choices; without ``methods_search`` all entries of the glossary are shown."""

    methods_search: str = ""
    methods_tab: str = one_of(tuple(TABS))
