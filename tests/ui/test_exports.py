"""Downloads state their origin."""

import io

import pandas as pd
import plotly.graph_objects as go

from probing.ui.widgets.export import Stamp, csv_bytes, file_name, html_bytes
from probing.ui.widgets.markdown import count, escape, listing

STAMP = Stamp("P@1, macro, all facts", "1a2b3c4d5e6f7a8b", ("aaaaaaaabbbb", "ccccccccdddd"))


def test_a_csv_carries_filters_and_fingerprint_in_every_row():
    table = pd.read_csv(io.BytesIO(csv_bytes(pd.DataFrame({"layer": [0, 1], "value": [0.1, 0.25]}), STAMP)))
    assert list(table["value"]) == [0.1, 0.25]
    assert set(table["filters"]) == {"P@1, macro, all facts"}
    assert set(table["data"]) == {"1a2b3c4d5e6f7a8b aaaaaaaabbbb ccccccccdddd"}


def test_a_csv_keeps_a_spreadsheet_from_running_a_token():
    written = csv_bytes(pd.DataFrame({"token": ["=1+1", "@x", "-", "fine"], "value": [-1.5, 1.0, 2.0, 3.0]}), STAMP).decode()
    table = pd.read_csv(io.StringIO(written))
    assert list(table["token"]) == ["'=1+1", "'@x", "'-", "fine"]
    assert table["value"][0] == -1.5


def test_an_html_file_is_self_contained_and_its_comment_cannot_be_closed_early():
    page = html_bytes(go.Figure(), Stamp("text '--><script>alert(1)</script>'", "1a2b", ("run",))).decode()
    assert "<script>alert(1)" not in page
    assert "cdn.plot.ly" not in page.split("plotly.js v")[0]
    assert "1a2b run" in page[:2000]


def test_a_stamp_names_filters_data_and_runs():
    assert STAMP.text == "BERTnesia Explorer · P@1, macro, all facts · data 1a2b3c4d5e6f · runs aaaaaaaa, cccccccc"
    assert Stamp("live").text == "BERTnesia Explorer · live"
    assert file_name("layer-curves", STAMP, ".csv") == "layer-curves-1a2b3c4d.csv"


def test_markdown_of_strangers_is_escaped():
    assert escape("**x** [a](b) <i> $y$ :red[z] `c`") == (r"\*\*x\*\* \[a\]\(b\) \<i\> \$y\$ \:red\[z\] \`c\`")
    assert escape("a\n\n# b") == r"a \# b"


def test_words_for_numbers():
    assert count(1, "fact") == "1 fact" and count(2310, "fact") == "2,310 facts"
    assert listing(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
