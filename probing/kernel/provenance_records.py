"""The base of all checked records."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A checked record: unknown keys are refused, and no value can be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)
