"""Names of the stages of ``reproduce``, known without torch."""

from enum import StrEnum


class Stage(StrEnum):
    """What is done one after the other."""

    fetch = "fetch"
    finetune = "finetune"
    heads = "heads"
    probe = "probe"
    build = "build"
    tables = "tables"
