"""Claims on forgetting that other papers make of other models."""

from typing import ClassVar

from probing.kernel.published import Published


class PublishedForgetting(Published):
    """The two claims; the papers' numbers are of other models and procedures, so there are no tables."""

    file: ClassVar[str] = "forgetting.toml"
