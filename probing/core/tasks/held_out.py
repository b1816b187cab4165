"""What is held out for scoring if a data set comes without a test part."""

import hashlib
from collections.abc import Iterable

#: Share of queries or articles that is held out.
TEST_SHARE = 0.2


def in_test_part(key: str) -> bool:
    """Whether an article or query is held out, decided by its hash: the same for every model and run."""
    return int(hashlib.sha256(f"task test part\t{key}".encode()).hexdigest()[:8], 16) / 16**8 < TEST_SHARE


def split_texts(texts: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Training and test texts of (key that decides on the part, text)."""
    parts: tuple[list[str], list[str]] = ([], [])
    for key, text in texts:
        parts[in_test_part(key)].append(text)
    return parts
