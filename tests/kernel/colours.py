"""Colours of models for tests of figures."""

from probing.kernel.figures.looks import usual_colours


def colours_of(*names: str) -> dict[str, str]:
    """Of models as the registry describes them; a name that it does not have is an own model."""
    return usual_colours(names)
