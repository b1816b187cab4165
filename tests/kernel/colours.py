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


def luminance(colour: str) -> float:
    """Relative luminance as WCAG defines it."""
    parts = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """From 1 to 21, as WCAG defines it."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)
