"""Whether a fine-tuned model learned its task: what the mark on its name means."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from probing.finetuning.success import Verdict
from probing.kernel.app.texts import Markdown, filled, joined
from probing.kernel.figures.looks_model_looks import MARKS

_KEY: Mapping[str, Markdown] = {
    " ✓": Markdown(
        "✓ learned its task: the task score lies above its baseline with its 95 % interval, and at least halfway to the"
        " score that BERT-base is published to reach, if one is published; its losses may still have other causes than"
        " the task"
    ),
    " ◐": Markdown("◐ partly: only above its baseline, less than halfway to the published score"),
    " ✗": Markdown("✗ trained, not learned: its losses cannot be attributed to its task"),
    " ?": Markdown("? cannot tell: too few test items, or no task score or baseline is stored"),
    " (control)": Markdown("control: trained further on its base's pre-training text, so it has no task"),
}


class Marked(Protocol):
    """An object with verdicts on models, such as a page's view."""

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Fine-tuned model -> verdict; other models are not in it."""


def mark_key(view: Marked, models: Iterable[str]) -> Markdown:
    """One line that explains the marks on these models, for the help of a menu; ``""`` if none has a mark."""
    signs = {MARKS[view.verdicts[model]] for model in models if model in view.verdicts}
    words = [text for sign, text in _KEY.items() if sign in signs]
    return filled("{words}.", words=joined("; ", words)) if words else Markdown("")
