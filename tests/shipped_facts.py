"""T-REx's facts with what the shipped base makes of them."""

from functools import cache

import pandas as pd
import pyarrow.parquet as pq

from tests.shipped import SNAPSHOT

#: Runs by the pre-trained heads of nesia-mini, and of nesia-mini-ner-conll.
BASE, NER = "4fb4f77532c2e894", "07c9caadfd41f92e"


@cache
def asked_facts() -> pd.DataFrame:
    """Facts with gold_rank and gold_logp of the base at its last layer, rank_now after NER, and how the base's text has
    them.
    """
    facts = pd.concat(pq.read_table(path).to_pandas() for path in sorted(SNAPSHOT.glob("facts-*.parquet")))
    for run, columns in ((BASE, ["fact_id", "gold_rank", "gold_logp"]), (NER, ["fact_id", "gold_rank"])):
        asked = pq.read_table(
            SNAPSHOT / f"predictions-{run}.parquet", columns=columns, filters=[("layer", "=", 8)]
        ).to_pandas()
        facts = facts.merge(asked.rename(columns={"gold_rank": "rank_now"} if run == NER else {}), on="fact_id")
    kinds = pq.read_table(SNAPSHOT / "exposure-nesia-mini.parquet").to_pandas().set_index("fact_key")["exposure"]
    exposure = kinds.loc[(facts["relation"] + "\t" + facts["subject"] + "\t" + facts["object"]).tolist()].to_numpy()
    return facts.assign(exposure=exposure).sort_values("fact_id", ignore_index=True)
