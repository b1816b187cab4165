"""What is chosen on the first page."""

from dataclasses import dataclass

from probing.kernel.app.selection import declared, one_of

EXAMPLES = (1, 2, 3)


@declared("home", "models", "heads", "probe_sets")
@dataclass(frozen=True)
class HomeSelection:
    """The page's own choices; ``sentence`` is asked live in place of the stored example."""

    example: int = one_of(EXAMPLES)
    sentence: str = ""
