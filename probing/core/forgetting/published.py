"""Claims on forgetting that other papers make of other models."""

from typing import ClassVar

from probing.core.published import Published

#: Share of the accuracy before that Deeb and Roger's relearning recovers.
RECOVERED = 0.88


class PublishedForgetting(Published):
    """The two claims; the papers' numbers are of other models and procedures, so there are no tables."""

    file: ClassVar[str] = "forgetting.toml"
