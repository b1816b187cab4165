"""Every number about knowledge in a headline has its yardstick in the same or the next sentence.

The pages are read as a reader finds them on the shipped results. A headline is a sentence of a page's own text, outside tables, captions,
tooltips and what is folded away, that holds a share in per cent. What the paper says and the rules of its claims are left out.
"""

import re

from streamlit.testing.v1 import AppTest

from tests.pages.conftest import without_badges

#: What a share can be held against: guessing, another subject, a model that learnt nothing new, another read-out, or an interval of it.
YARDSTICKS = (
    "majority answer", "commonest answer", "most frequent answer", "swapped", "never an answer", "chance", "random order",
    "control", "re-trained heads", "paper's own", "guess", "baseline", "the best line",
)  # fmt: skip
#: What a text begins with, or holds, that is about the paper's numbers or states a rule.
OF_THE_PAPER = ("**Rule.**", "**The paper", ":gray[", "the published number")
_THRESHOLD = re.compile(r"(?:at least|within|by less than) \d+ points")
_SHARE = re.compile(r"\d(?:[\d.,]*\d)?\s?(?:\\?%|per cent|points)")
_SENTENCE = re.compile(r"(?<=[.!?:])(?:\*\*)?\s+(?=[A-Z*“(])")


def sentences(text: str) -> list[str]:
    """The sentences of a text; a decimal point or an abbreviation within a word ends none."""
    return [one for part in text.split("\n") for one in _SENTENCE.split(part) if one.strip()]


def without_yardstick(text: str) -> list[str]:
    """The sentences with a share that state no yardstick, and neither does the next sentence."""
    # A badge is a verdict against the baseline, which the caption of its marks explains.
    found = sentences(without_badges(text))
    named = [any(word in one.lower() for word in YARDSTICKS) for one in found]
    return [one for number, one in enumerate(found) if _SHARE.search(_THRESHOLD.sub("", one)) and not any(named[number : number + 2])]


def headlines(app: AppTest) -> list[str]:
    """The texts of a page outside the sidebar and closed expanders."""
    folded = {id(one) for box in app.main.get("expander") for one in box.markdown}
    texts = [str(one.value) for one in app.main.markdown if id(one) not in folded]
    return [text for text in texts if not any(words in text for words in OF_THE_PAPER)]
