"""Columns that are as wide as their longest words, and which of them a page leaves out."""

import re

import pandas as pd
import streamlit as st

from probing.ui.widgets.tables import fitted, telling, text_width, written


def test_a_long_word_below_the_first_rows_widens_its_column():
    short = fitted(pd.DataFrame({"model": ["base"] * 40}))["model"]["width"]
    long = fitted(pd.DataFrame({"model": ["base"] * 39 + ["nesia-mini-rank-msmarco"]}))["model"]["width"]
    assert short < text_width("nesia-mini-rank-msmarco") + 16 <= long


def test_no_text_however_long_or_missing_makes_a_column_wider_than_a_page():
    config = fitted(pd.DataFrame({"text": ["word " * 900, None], "empty": [None, None]}))
    assert config["text"]["width"] == 400 and config["empty"]["width"] >= text_width("empty") + 16


def test_columns_that_repeat_the_selection_are_left_out_until_they_differ():
    table = pd.DataFrame(
        {"run_id": ["x", "y"], "model": ["a", "b"], "head": ["tied", "tied"], "k": [1, 10], "value": [0.0, 0.0]}
    )
    assert telling(table) == ["model", "k", "value"]
    assert telling(table.assign(head=["tied", "logit_lens"])) == ["model", "head", "k", "value"]


def test_without_a_model_runs_are_distinguished_by_their_ids():
    assert telling(pd.DataFrame({"run_id": ["x", "y"], "value": [0.1, 0.2]})) == ["run_id", "value"]


def test_shares_are_per_cent_and_their_differences_points_with_a_minus_sign():
    table = pd.DataFrame({"known": [0.125], "lost": [-0.0321], "same": [-0.0001], "n": [16020]})
    number = st.column_config.NumberColumn
    config = {"known": number(format="percent"), "lost": number(format="points"), "same": number(format="points")}
    shown, _ = written(table, config)
    assert shown.to_html().count("<td") == 4
    assert all(text in shown.to_html() for text in (">12.5 %<", ">−3.2<", ">0.0<", ">16,020<"))


def test_numbers_have_a_minus_sign_and_separated_thousands_in_the_format_of_their_column():
    table = pd.DataFrame(
        {"n": [4423, 7], "gain": [-1.14, -0.01], "p": [0.00012, 0.5], "layer": [3.0, None], "loss": [-0.25, 1234.0]}
    )
    table = table.assign(way="x")
    number = st.column_config.NumberColumn
    config = {
        "n": number(format="%d facts"),
        "gain": number(format="%+.1f"),
        "p": number("p", format="%.2g"),
        "way": "way",
    }
    shown, columns = written(table, config)
    cells = re.findall("<td[^>]*>([^<]*)<", shown.to_html())
    assert cells == ["4,423 facts", "−1.1", "0.00012", "3", "−0.25", "x", "7 facts", "+0.0", "0.5", "–", "1,234", "x"]
    assert shown.data.equals(table), "a click on a heading sorts by the numbers"
    assert columns["p"]["label"] == "p" and columns["p"]["type_config"]["format"] is None, (
        "Streamlit would write its own format instead"
    )
