"""Lists and facts at every width: ids, counts and states whole, names cut in their middle."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.text import Text

from remand_app.cli.render.listing import Facts, Listing, cut, cut_in_the_middle, folded
from remand_app.cli.render.output import facts, table

COLUMNS = ("group", "open", "last", "24 hours", "state", "template and step", "cause")
BARS = "▁▂▃▄▅▆▇█▁▂▃▄▅▆▇█▁▂▃▄▅▆▇█"
ROWS = [
    ("6d41ac", "1", "12 min", BARS, "investigating ann", "shop/quote:1 price", "KeyError: token"),
    ("4e90b2", "82127", "3 d", BARS, "open", "shop/quote:1 price", "ConnectionError: to payments refused"),
]
LONG = ("ffffff", "7", "1 s", BARS, "open", f"very/{'long-' * 50}name:17 charge", "Odd: " + "said much " * 30)
WIDTHS = (34, 40, 50, 60, 79, 80, 99, 100, 120, 160, 200, 300)


def lines(listing: Listing | Facts, width: int) -> list[str]:
    return [line.plain.rstrip() for line in listing.lines(width)]


@pytest.mark.parametrize("folds", [True, False])
@pytest.mark.parametrize("rows", [ROWS, [*ROWS, LONG]], ids=["short", "one long name"])
@pytest.mark.parametrize("width", WIDTHS)
def test_ids_counts_and_states_are_whole_at_every_width(
    width: int, rows: list[tuple[str, ...]], folds: bool
) -> None:
    shown = lines(table(*COLUMNS, rows=rows, folds=folds), width)

    text = "\n".join(shown)
    for row in rows:
        for cell in (row[0], row[1], row[2], row[4].split()[0]):
            assert cell in text
    assert max(cell_len(line) for line in shown) <= width
    causes = [line for line in shown if "KeyError" in line]
    assert len(causes) == 1
    assert causes[0].rstrip("…")[-1] in "token"


@pytest.mark.parametrize("width", [34, 60, 80, 99])
def test_below_a_hundred_an_item_has_two_lines_whatever_the_others_are(width: int) -> None:
    shown = lines(table(*COLUMNS, rows=[*ROWS, LONG], folds=False), width)

    if width >= 40:
        assert len(shown) == 2 * 4
    assert not any(mark in "".join(shown) for mark in "▂▃▄▅▆▇"), "the sparkline goes first"
    assert any("shop/quote:1 price · KeyError: token" in line for line in shown) or width < 50


def test_a_sparkline_goes_before_anything_is_cut() -> None:
    whole = lines(table(*COLUMNS, rows=ROWS, folds=False), 200)
    assert any(BARS in line for line in whole)
    width = max(map(len, whole)) - 1
    less = lines(table(*COLUMNS, rows=ROWS, folds=False), width)
    assert not any(BARS in line or "…" in line for line in less)


def test_what_fits_is_one_line_an_item_however_narrow() -> None:
    assert lines(table("id", "state", rows=[("1f9c02", "open"), ("ab00ff", "closed")]), 34) == [
        "id      state", "1f9c02  open", "ab00ff  closed",
    ]  # fmt: skip


def test_a_long_name_that_comes_first_stays_first() -> None:
    rows = [(f"payments/{'x' * 40}", "3", "steps"), ("payments/order", "1", "–")]
    assert lines(table("template", "steps", "queues", rows=rows), 40) == [
        "template",
        f"payments/{'x' * 31}",
        "x" * 9,
        "  steps 3 · queues steps",
        "payments/order",
        "  steps 1",
    ]


def test_what_has_no_room_beside_it_is_named_below() -> None:
    rows = [("steps", "12", "3", "none")]
    assert lines(table("queue", "ready", "to decide", "workers", rows=rows), 24) == [
        "queue  ready  to decide", "steps  12     3", "  workers none",
    ]  # fmt: skip


def test_long_names_keep_both_ends() -> None:
    name = f"very/{'long-' * 50}name:17 charge"
    shown = "\n".join(lines(table(*COLUMNS, rows=[*ROWS, LONG], folds=False), 120))

    found = next(line for line in shown.splitlines() if line.startswith("ffffff"))
    assert "very/long-" in found
    assert "17 charge" in found
    assert name not in found


def test_folding_loses_nothing() -> None:
    text = "a sentence of some length, and_a_word_that_is_longer_than_the_line_is_wide, and an end"
    for width in (8, 20, 40):
        made = folded(Text(text), width)
        assert all(cell_len(line.plain) <= width for line in made)
        assert "".join("".join(line.plain for line in made).split()) == "".join(text.split())


def test_cells_are_counted_not_characters() -> None:
    wide = Text("世界" * 20)
    for width in (5, 10, 11):
        assert cell_len(cut(wide, width).plain) <= width
        assert cell_len(cut_in_the_middle(wide, width).plain) <= width


def test_an_address_among_facts_is_never_broken() -> None:
    url = "http://127.0.0.1:8484/login/" + "x" * 80
    for width in (34, 80, 200):
        shown = lines(
            facts([("dashboard", url), ("state", "ok, and some words that have to go on below it")]), width
        )
        assert url in [line.split()[-1] for line in shown if line]
        assert max(len(line) for line in shown if url not in line) <= width
