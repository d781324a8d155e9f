"""Pieces side by side: cutting, joining, forgetting."""

from __future__ import annotations

from oncelog.broker.sharing.pieces import ACKNOWLEDGED, ACQUIRED, AVAILABLE, Batch, Fate, Pieces


def made(*sizes: int, start: int = 0) -> Pieces:
    pieces = Pieces(start)
    for size in sizes:
        batch = Batch(pieces.end + 1, pieces.end + size)
        pieces.append(batch, batch.last, Fate(AVAILABLE, 1))
    return pieces


def borders(pieces: Pieces) -> list[tuple[int, int]]:
    return [(piece.first, piece.last) for piece in pieces]


def test_cutting_and_joining() -> None:
    pieces = made(10, 5)
    middle = pieces.cut_out(3, 5)
    assert borders(pieces) == [(0, 2), (3, 5), (6, 9), (10, 14)]
    assert (middle.first, middle.last, middle.batch.split, middle.batch.size) == (3, 5, True, 10)
    assert pieces.cut_out(3, 5) is middle
    pieces.join(3, 5)
    assert borders(pieces) == [(0, 9), (10, 14)]  # never beyond a batch
    assert [pieces.index(offset) for offset in (0, 9, 10, 14)] == [0, 0, 1, 1]


def test_what_is_counted() -> None:
    pieces = made(10)
    piece = pieces.cut_out(0, 3)
    assert (pieces.available, pieces.over) == (10, 0)
    pieces.change(piece, Fate(ACKNOWLEDGED, 1), Fate(ACQUIRED, 1, "a"))
    assert (pieces.available, pieces.over) == (6, 4)
    pieces.drop_over()
    assert pieces.start == 0  # its write is under way
    pieces.change(piece, piece.fate)
    assert pieces.drop_over()
    assert (pieces.start, pieces.available, pieces.over) == (4, 6, 0)
    pieces.change(pieces[0], Fate(AVAILABLE, 1), Fate(ACQUIRED, 1, "a"))
    assert pieces.available == 0


def test_pieces_with_a_write_under_way_stay_apart() -> None:
    pieces = made(10)
    pieces.change(pieces.cut_out(0, 3), Fate(AVAILABLE, 1), Fate(ACQUIRED, 1, "a"))
    pieces.join(0, 9)
    assert borders(pieces) == [(0, 3), (4, 9)]


def test_forgetting_below_an_offset() -> None:
    pieces = made(5, 5, start=10)
    pieces.start_at(10)
    assert borders(pieces) == [(10, 14), (15, 19)]
    pieces.start_at(12)
    assert (borders(pieces), pieces.start, pieces.available) == ([(12, 14), (15, 19)], 12, 8)
    assert pieces[0].batch.split
    pieces.start_at(15)
    assert (borders(pieces), pieces.start) == ([(15, 19)], 15)
    pieces.start_at(30)
    assert (borders(pieces), pieces.start, pieces.end, pieces.available) == ([], 30, 29, 0)
