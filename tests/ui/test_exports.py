"""Downloads state their origin."""

import io

import pandas as pd
import plotly.graph_objects as go
from PIL import Image

from probing.ui.widgets.export import Stamp, csv_bytes, html_bytes
from probing.ui.widgets.markdown import escape
from probing.ui.widgets.paper.calls import plot
from probing.ui.widgets.paper.saver import resolution

STAMP = Stamp("P@1, macro, all facts", "1a2b3c4d5e6f7a8b", ("aaaaaaaabbbb", "ccccccccdddd"))


def test_a_csv_carries_filters_and_fingerprint_in_every_row():
    table = pd.read_csv(io.BytesIO(csv_bytes(pd.DataFrame({"layer": [0, 1], "value": [0.1, 0.25]}), STAMP)))
    assert list(table["value"]) == [0.1, 0.25]
    assert set(table["filters"]) == {"P@1, macro, all facts"}
    assert set(table["data"]) == {"1a2b3c4d5e6f7a8b aaaaaaaabbbb ccccccccdddd"}


def test_a_csv_keeps_a_spreadsheet_from_running_a_token():
    written = csv_bytes(
        pd.DataFrame({"token": ["=1+1", "@x", "-", "fine"], "value": [-1.5, 1.0, 2.0, 3.0]}), STAMP
    ).decode()
    table = pd.read_csv(io.StringIO(written))
    assert list(table["token"]) == ["'=1+1", "'@x", "'-", "fine"]
    assert table["value"][0] == -1.5


def test_an_html_file_is_self_contained_and_its_comment_cannot_be_closed_early():
    page = html_bytes(go.Figure(), Stamp("text '--><script>alert(1)</script>'", "1a2b", ("run",))).decode()
    assert "<script>alert(1)" not in page
    assert "cdn.plot.ly" not in page.split("plotly.js v")[0]
    assert "1a2b run" in page[:2000]


def test_a_small_html_file_is_under_a_megabyte_and_takes_the_script_from_the_network():
    figure = go.Figure(go.Heatmap(z=[[0.123456] * 13] * 41))
    small, whole = html_bytes(figure, STAMP, whole=False), html_bytes(figure, STAMP)
    assert len(small) < 1_000_000 < len(whole)
    assert b"cdn.plot.ly" in small


def test_a_call_leaves_out_what_is_not_given_and_says_which_filters_it_lacks():
    drawn = plot("edges", "summary", {"model": ["a", "b"], "task": (), "unseen": False}, published=False)
    assert drawn.endswith(".report('edges', 'summary', model=['a', 'b']).figure(published=False)")
    assert plot("facts", "precision", {}, filtered=True) == ""


def test_a_png_says_how_many_dots_an_inch_has():
    with Image.new("1", (1, 1)) as image, io.BytesIO() as file:
        image.save(file, "png", dpi=(300, 300))
        assert resolution(300) in file.getvalue()


def test_markdown_of_strangers_is_escaped():
    assert escape("**x** [a](b) <i> $y$ :red[z] `c`") == (r"\*\*x\*\* \[a\]\(b\) \<i\> \$y\$ \:red\[z\] \`c\`")
    assert escape("a\n\n# b") == r"a \# b"
