"""Walks the records of a batch without making any: every length, count and varint is checked, as `DefaultRecord.readFrom` does.

A walk goes on where it stopped, so that a batch of a hundred thousand records can be taken in turns. Records that follow each other with
the same sizes, as most producers send them, are checked together: the bytes at one place of each are a slice with a step, and a slice
is compared in one call.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from oncelog.protocol.primitives import Buffer, read_varint

WINDOW_BYTES: Final = 1 << 16  # read from a copy of this size: indexing bytes is faster than indexing a view
STEPS_A_TURN: Final = 4000  # of a microsecond or two each
_LONGEST_HEAD: Final = 5  # bytes of a record's length
_LONGEST_RUN: Final = 4096
_SHORTEST_RUN: Final = 4
_FIRST_RUN: Final = 16
_MANY_HEADERS: Final = 64
_PAUSE: Final = 64  # records without a look for a run, after one that was too short
_HIGH: Final = bytes(range(0x80, 0x100))  # bytes of a varint behind which another one comes
# Offset deltas count upwards. The bytes of their varints:
_ONE_WIDE: Final = bytes(range(0, 0x80, 2))  # of 0 to 63
_FIRST: Final = _HIGH[::2] * (1 + _LONGEST_RUN // 64)  # the first of more than one; repeats each 64
_SECOND: Final = b"".join(bytes((byte,)) * 64 for byte in range(0x80))  # the second of two, from 0 to 8191
_SECOND_OF_MORE: Final = b"".join(bytes((byte,)) * 64 for byte in _HIGH) + bytes((0x80,)) * _LONGEST_RUN
_WIDER_AT: Final = (1 << 6, 1 << 13, 1 << 20)


class CorruptRecords(ValueError):
    """The bytes are not the records that their batch announces."""


class Allowance:
    """Steps that may still be taken in this turn of the loop: a record, a header, a kilobyte unpacked."""

    __slots__ = ("left",)

    def __init__(self, steps: int = STEPS_A_TURN) -> None:
        self.left = steps

    def refill(self) -> None:
        """Another turn."""
        self.left = STEPS_A_TURN


class RecordWalk:
    """The `count` records in `data`.

    `largest`, `smallest`: timestamp deltas seen. `keyless`, `misplaced`: index of the first record without a key, of the first one whose
    offset delta is not its index; -1 for none.
    """

    __slots__ = ("_count", "_end", "_headers", "_index", "_pos", "_view", "keyless", "largest", "misplaced", "smallest")

    def __init__(self, data: Buffer, count: int) -> None:
        self._view = memoryview(data)
        self._pos = 0
        self._count = count
        self._index = 0
        self._headers = 0  # still to be read of a record that is read by itself and ends at `_end`
        self._end = 0
        self.largest = -(1 << 63)
        self.smallest = (1 << 63) - 1
        self.keyless = -1
        self.misplaced = -1

    def run(self, allowance: Allowance) -> bool:
        """Go on as far as `allowance` lasts; True when all records were read. Raises CorruptRecords."""
        size = len(self._view)
        try:
            while self._index < self._count:
                if allowance.left <= 0:
                    return False
                if self._end == 0:
                    here = self._pos
                    allowance.left -= self._read(bytes(self._view[here : here + WINDOW_BYTES]), allowance.left)
                    if self._pos != here:
                        continue
                    self._begin_alone()
                allowance.left -= 1 + self._read_headers(allowance.left)
        except (IndexError, ValueError) as problem:
            raise CorruptRecords(f"record {self._index}: {problem}") from problem
        if self._pos != size:
            raise CorruptRecords(f"{size - self._pos} bytes after the last record")
        return True

    def _begin_alone(self) -> None:
        """Up to its headers, the record that no window holds, or that has many headers. Raises IndexError and ValueError."""
        view = self._view
        length, begin = read_varint(view, self._pos, _LONGEST_HEAD)
        end = begin + length
        if length < 0 or end > len(view):
            raise ValueError(f"length {length} does not fit")
        delta, pos = read_varint(view, begin + 1)
        self.largest, self.smallest = max(self.largest, delta), min(self.smallest, delta)
        delta, pos = read_varint(view, pos, 5)
        if delta != self._index and self.misplaced < 0:
            self.misplaced = self._index
        length, pos = read_varint(view, pos, 5)
        if length < 0 and self.keyless < 0:
            self.keyless = self._index
        length, pos = read_varint(view, pos + max(length, 0), 5)
        self._headers, self._pos = read_varint(view, pos + max(length, 0), 5)
        self._end = end
        if not 0 <= self._headers <= end - self._pos:
            raise ValueError(f"{self._headers} headers do not fit")

    def _read_headers(self, limit: int) -> int:
        """Some of the headers of the record that is read by itself, and its end; how many. Raises IndexError and ValueError."""
        count = min(limit, self._headers)
        self._pos = _skip_headers(self._view, self._pos, count)
        self._headers -= count
        if not self._headers:
            if self._pos != self._end:
                raise ValueError(f"content and length differ by {self._end - self._pos} bytes")
            self._end = 0
            self._index += 1
        return count

    def _read(self, data: bytes, steps: int) -> int:
        """Read whole records from the front of `data`, a window; the steps taken. Raises IndexError and ValueError."""
        pos, index, left = 0, self._index, steps
        count, look_at, previous = self._count, index, 0
        size = len(data)
        stop = size - _LONGEST_HEAD  # no record that begins behind it is whole
        largest, smallest = self.largest, self.smallest
        while index < count and pos < stop and left > 0:
            start = pos
            length = data[pos]
            if length < 0x80:
                pos += 1
                length = (length >> 1) ^ -(length & 1)
            elif (second := data[pos + 1]) < 0x80:  # by hand, as nearly all that is longer than a byte
                pos += 2
                length += (second << 7) - 0x80
                length = (length >> 1) ^ -(length & 1)
            else:
                length, pos = read_varint(data, pos, _LONGEST_HEAD)
            times = pos + 1  # behind the attributes, which mean nothing
            end = pos + length
            if length < 0:
                raise ValueError(f"length {length}")
            if end > size:
                pos = start
                break
            delta = data[times]
            if delta < 0x80:
                offsets = times + 1
                delta = (delta >> 1) ^ -(delta & 1)
            elif (second := data[times + 1]) < 0x80:
                offsets = times + 2
                delta += (second << 7) - 0x80
                delta = (delta >> 1) ^ -(delta & 1)
            else:
                delta, offsets = read_varint(data, times)
            if delta > largest:
                largest = delta
            if delta < smallest:
                smallest = delta
            delta = data[offsets]
            if delta < 0x80:
                keys = offsets + 1
                delta = (delta >> 1) ^ -(delta & 1)
            elif (second := data[offsets + 1]) < 0x80:
                keys = offsets + 2
                delta += (second << 7) - 0x80
                delta = (delta >> 1) ^ -(delta & 1)
            else:
                delta, keys = read_varint(data, offsets, 5)
            if delta != index and self.misplaced < 0:
                self.misplaced = index
            length = data[keys]
            if length < 0x80:
                values = keys + 1
                length = (length >> 1) ^ -(length & 1)
            else:
                length, values = read_varint(data, keys, 5)
            if length > 0:
                values += length
            elif length < 0 and self.keyless < 0:
                self.keyless = index
            length = data[values]
            if length < 0x80:
                pos = values + 1
                length = (length >> 1) ^ -(length & 1)
            elif (second := data[values + 1]) < 0x80:
                pos = values + 2
                length += (second << 7) - 0x80
                length = (length >> 1) ^ -(length & 1)
            else:
                length, pos = read_varint(data, values, 5)
            if length > 0:
                pos += length
            if data[pos]:
                number, pos = read_varint(data, pos, 5)
                if number > _MANY_HEADERS:
                    pos = start
                    break
                if number < 0:
                    raise ValueError("negative number of headers")
                pos = _skip_headers(data, pos, number)
                left -= number
                previous = -1
            else:
                pos += 1
            if pos != end:
                raise ValueError(f"content and length differ by {end - pos} bytes")
            index += 1
            left -= 1
            if end - start != previous:
                previous = end - start
            elif index >= look_at:
                self.largest, self.smallest = largest, smallest
                found = self._read_run(data, (start, times, offsets, keys, values, end), index)
                largest, smallest = self.largest, self.smallest
                if found < _SHORTEST_RUN:
                    look_at = index + _PAUSE
                index += found
                pos += found * previous
                left -= 8 + found // 16
        self._pos += pos
        self._index, self.largest, self.smallest = index, largest, smallest
        return steps - left

    def _read_run(self, data: bytes, places: tuple[int, int, int, int, int, int], index: int) -> int:
        """How many records, the first being number `index`, have the sizes of the one before them, which has no headers.

        `places`: where that one, its timestamp delta, its offset delta, its key and its value begin, and where it ends.
        """
        start, times, offsets, keys, values, end = places
        size = end - start
        value_length, value = read_varint(data, values, 5)
        same = [*range(start, times - 1), *range(keys, read_varint(data, keys, 5)[1]), *range(values, value), end - 1]
        if value + max(value_length, 0) != end - 1:
            return 0
        found, wanted = 0, _FIRST_RUN
        while True:
            number, at = index + found, size * (found + 1)
            columns = _offset_columns(number, keys - offsets)
            run = asked = min(wanted, self._count - number, (len(data) - start - at) // size, len(columns[0]) if columns else 0)
            for place in same:
                first = place + at
                if run <= 0:
                    return found
                column = data[first : first + size * (run - 1) + 1 : size]
                run -= len(column.lstrip(data[place : place + 1]))
            for place, expected in enumerate(columns, offsets + at):
                if data[place : place + size * run : size][:run] != expected[:run]:
                    return found
            if not self._note_times([data[place : place + size * run : size][:run] for place in range(times + at, offsets + at)]):
                return found
            found += run
            if run < asked or run < _SHORTEST_RUN:
                return found
            wanted = min(8 * wanted, _LONGEST_RUN)

    def _note_times(self, columns: list[bytes]) -> bool:
        """Take in the timestamp deltas whose bytes are given place by place; False, and nothing done, when they are not all that wide."""
        if not columns[0] or not columns[-1].isascii() or any(column.translate(None, _HIGH) for column in columns[:-1]):
            return False
        for deltas in {*zip(*columns, strict=True)}:
            delta, _ = read_varint(bytes(deltas), 0)
            if delta > self.largest:
                self.largest = delta
            if delta < self.smallest:
                self.smallest = delta
        return True


def lone_record(data: Buffer, start: int, end: int) -> int:
    """Whether the bytes from `start` to `end` are one record at delta 0 without headers, as small producers send it: WITH_KEY or
    WITHOUT_KEY; UNKNOWN: a `RecordWalk` must tell. 0.5 µs, a third of what the walk takes."""
    if end - start < _LONE.size:
        return UNKNOWN
    length, second, third, fourth, key, after = _LONE.unpack_from(data, start)
    pos = start + 5
    if length >= 0x80:  # two bytes long
        if second >= 0x80:
            return UNKNOWN
        length += (second << 7) - 0x80
        third, fourth, key = fourth, key, after
        pos += 1
    if length != (end - pos + 4) << 1 or third or fourth or key >= 0x80:
        return UNKNOWN
    keyed = WITHOUT_KEY
    if key != 1:
        if key & 1:
            return UNKNOWN
        keyed = WITH_KEY
        pos += key >> 1
    if pos > end - 2:
        return UNKNOWN
    length = data[pos]
    pos += 1
    if length >= 0x80:
        second = data[pos]
        if second >= 0x80:
            return UNKNOWN
        length += (second << 7) - 0x80
        pos += 1
    if length & 1:
        if length != 1:
            return UNKNOWN
        length = 0
    return keyed if pos + (length >> 1) == end - 1 and data[end - 1] == 0 else UNKNOWN


UNKNOWN: Final = -1
WITHOUT_KEY: Final = 0
WITH_KEY: Final = 1
_LONE = Struct(">BBBBBB")


def _offset_columns(delta: int, width: int) -> list[bytes]:
    """The bytes, place by place, of the offset deltas from `delta` on that are `width` bytes wide; none: they are not, or too wide."""
    if width == 1:
        return [_ONE_WIDE[delta:]] if delta < _WIDER_AT[0] else []
    if width == 2:
        return [_FIRST[delta % 64 :], _SECOND[delta:]] if _WIDER_AT[0] <= delta < _WIDER_AT[1] else []
    if width != 3 or not _WIDER_AT[1] <= delta < _WIDER_AT[2]:
        return []
    return [_FIRST[delta % 64 :], _SECOND_OF_MORE[delta % 8192 :], bytes((delta >> 13,)) * (8192 - delta % 8192)]


def _skip_headers(data: Buffer, pos: int, count: int) -> int:
    """The position behind `count` headers. Raises IndexError and ValueError."""
    for _ in range(count):
        length, pos = read_varint(data, pos, 5)
        if length < 0:
            raise ValueError("null header key")
        length, pos = read_varint(data, pos + length, 5)
        if length > 0:
            pos += length
    return pos
