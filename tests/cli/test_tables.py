"""Tests of cli/tables."""

import os
import subprocess
import sys
from io import StringIO

import pytest
from rich.console import Console

import unmask
from unmask.answer.scales import SCALES
from unmask.cli import tables, terminal
from unmask.cli.options import PIPE_WIDTH
from unmask.reports.columns import Cell


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_tables_fit_without_cutting_words(width):
    found = unmask.run("bundled", ["sss", "w-seat", "lpbs"], limit=40)
    shown = StringIO()
    terminal.print_results(Console(file=shown, width=width), found, by_category=True)
    text = shown.getvalue()
    assert max(map(len, text.splitlines())) <= width
    words = ("measure", "verdict", "sss", "w-seat", "biased", "interval", "socioeconomic")
    for word in words if width > 40 else ("measure", "score", "sss", "w-seat"):
        assert word in text
    if width == 40:  # a paragraph for each row, and nothing is cut
        for r in found:
            value = SCALES[r.compared].text(r.overall.value)
            assert f"{SCALES[r.compared].head} {value}" in " ".join(text.split())


def test_names_break_at_their_marks_only():
    found = tables.wrap("bundled-pairs:40-of-356", 14).split("\n")
    assert found == ["bundled-pairs:", "40-of-356"]
    heads = [Cell("data", True), Cell("score", False), Cell("acc.", False)]
    rows = [[Cell("a-long-name", True), Cell("50.0", False), Cell("9 %", False)]]
    assert tables.fitted(heads, rows, 40)[2] == []
    kept, cells, gone = tables.fitted(heads, rows, 17)
    assert ([c.text for c in kept], gone) == (["data", "score"], ["acc."])
    assert cells[0][0].text == "a-long-name"


def test_piped_output_is_not_folded():
    clean = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    call = [sys.executable, "-m", "unmask", "list", "data", "sent-weat6"]
    out = subprocess.run(call, env=clean, capture_output=True, text=True, check=True).stdout
    (line,) = [x for x in out.splitlines() if "https" in x]
    assert line.rstrip().endswith("sent-weat6.jsonl")
    assert PIPE_WIDTH > 1000
