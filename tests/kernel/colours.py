"""Models and colours for tests of figures."""

from probing.kernel.figures import theme
from probing.kernel.models.names import KnownModel, known_model
from probing.kernel.registry import read_registry


def known(*names: str) -> list[KnownModel]:
    """Models as the registry describes them; a name that it does not have is a base."""
    registry = read_registry()
    return [known_model(registry, name) for name in names]


def colours_of(*names: str) -> dict[str, str]:
    """Their colours."""
    return theme.model_colours(known(*names))
