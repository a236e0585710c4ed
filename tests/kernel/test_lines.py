"""The line scanner: exact numbers, the same rows however the bytes are cut, and nothing that raises."""

import csv
import io
import json
import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulseboard.kernel import lines as kernel

MODES = {"text": kernel.TEXT, "delimited": kernel.DELIMITED, "json": kernel.JSON}


def scanned(data, mode=kernel.TEXT, *, cuts=(), **options):
    """[(line number, [values])] of every line with a number, fed in the pieces between `cuts`."""
    scanner = kernel.LineScanner(mode, **options)
    rows, counts, base, rest = [], {}, 0, b""
    pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    for i, piece in enumerate(pieces):
        rest += piece
        last = i == len(pieces) - 1
        at = 0
        while True:
            at, shape = scanner.feed(rest, at, last=last)
            if shape is None:
                break
            hash, _, tokens = shape
            counts[len(counts)] = sum(type <= kernel.UTC for _, _, type, _ in tokens)
            scanner.learn(hash, len(counts) - 1)
        rest = rest[at:]
        scanned_lines = scanner.lines
        found, ids, starts, values = scanner.take()
        numbers = struct.unpack(f"={len(values) // 8}d", values)
        for line, id, start in zip(
            struct.unpack(f"={len(found) // 8}q", found),
            struct.unpack(f"={len(ids) // 4}i", ids),
            struct.unpack(f"={len(starts) // 8}Q", starts),
            strict=True,
        ):
            rows.append((base + line, list(numbers[start : start + counts[id]])))
        base += scanned_lines
    return rows


def tokens_of(line, mode=kernel.TEXT, **options):
    """(text, type, value) of each token of one line."""
    data = line.encode() if isinstance(line, str) else line
    _, shape = kernel.LineScanner(mode, **options).feed(data + b"\n")
    if shape is None:
        return []
    return [(shape[1][a:b].decode("utf-8", "replace"), type, value) for a, b, type, value in shape[2]]


def values_of(line, mode=kernel.TEXT, **options):
    return [value for _, type, value in tokens_of(line, mode, **options) if type == kernel.NUMBER]


def shape_of(line, mode=kernel.TEXT):
    return kernel.LineScanner(mode).feed(line.encode() + b"\n")[1][0]


# ---- numbers


@settings(max_examples=500, deadline=None)
@given(value=st.floats(allow_nan=False, allow_infinity=False), form=st.sampled_from(["r", ".6g", ".17e", "f", "e"]))
def test_every_number_is_read_as_python_reads_it(value, form):
    text = repr(value) if form == "r" else format(value, form)
    assert values_of(f"loss {text} end") == [float(text)]
    assert values_of(text, kernel.DELIMITED) == [float(text)]
    assert values_of(f'{{"loss": {text}}}', kernel.JSON) == [float(text)]


@settings(max_examples=300, deadline=None)
@given(
    digits=st.text("0123456789", min_size=1, max_size=40),
    point=st.integers(0, 40),
    exponent=st.none() | st.integers(-400, 400),
)
def test_numbers_of_any_length_are_rounded_correctly(digits, point, exponent):
    text = digits[:point] + "." + digits[point:] if point < len(digits) else digits
    text = f"0{text}" if text.startswith(".") else text
    text += "" if exponent is None else f"e{exponent}"
    assert values_of(text, kernel.DELIMITED) == [float(text)]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("loss nan", [math.nan]),
        ("loss: -inf", [-math.inf]),
        ("step_avg:nanms", [math.nan]),
        ("information nano inform", []),
        ("conv2d layer.0.weight mAP@0.5 v2", []),
        ("tps: 10,270 of 1,234,567.5", [10270.0, 1234567.5]),
        ("1,2,3 1,23", [1.0, 2.0, 3.0, 1.0, 23.0]),
        ("a-1 -1 - 1 +2 3-4", [1.0, -1.0, 1.0, 2.0, 3.0, 4.0]),
        ("\x1b[31mstep: 10\x1b[0m \x1b[38;2;1;2;3mloss 2", [10.0, 2.0]),
        ("größe 5 漢 6", [5.0, 6.0]),
        ("x\x005", [5.0]),
        ("1.5.2", [1.5, 2.0]),
    ],
)
def test_numbers_in_text(line, values):
    assert [str(value) for value in values_of(line)] == [str(value) for value in values]


def test_dates_are_one_token_and_a_zone_makes_them_exact():
    (token,) = tokens_of("2026-05-20 00:03:47,930")
    assert token[1:] == (kernel.TIME, pytest.approx(1779235427.93))
    (token,) = tokens_of("2026-05-20T02:03:47+02:00")
    assert token[1:] == (kernel.UTC, 1779235427.0)
    (token,) = tokens_of("2026/05/20_00:03:47Z")
    assert token[1:] == (kernel.UTC, 1779235427.0)
    assert [type for _, type, _ in tokens_of("2026-13-20 00:03:47")] != [kernel.TIME]


# ---- shapes


def test_lines_that_differ_in_their_numbers_have_one_shape():
    assert shape_of("step 1: loss 2.5") == shape_of("step 1000:   loss nan")
    assert shape_of("step 1: loss 2.5") != shape_of("step 1: acc 2.5")
    assert shape_of(" 5%|#####      | 1/9") == shape_of(" 50%|########   | 9/9")


def test_names_belong_to_the_shape_of_a_json_line_and_texts_and_arrays_do_not():
    assert shape_of('{"a": 1, "b": "x"}', kernel.JSON) == shape_of('{"a":2,"b":"yz 3"}', kernel.JSON)
    assert shape_of('{"top-1": 1}', kernel.JSON) != shape_of('{"top-5": 1}', kernel.JSON)
    assert shape_of('{"a": 1, "b": [1, 2]}', kernel.JSON) == shape_of('{"a": 1, "b": [[3], "]"]}', kernel.JSON)
    assert values_of('{"a": "nan", "b": NaN, "c": -Infinity, "d": true, "e": null}', kernel.JSON)[2] == -math.inf


def test_control_characters_cannot_imitate_a_number():
    rows = scanned(b"loss 1\nloss \x01\nloss 2\n")
    assert [values for _, values in rows] == [[1.0], [2.0]]


# ---- lines


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_line_break_ends_a_line(newline):
    data = newline.join(["step 1", "step 2", "", "x", "step 3", ""]).encode()
    assert scanned(data) == [(0, [1.0]), (1, [2.0]), (4, [3.0])]


TEXTS = {
    "text": b"step 1: loss 2.5\r\nstep 2: loss nan\rbar 3/9\n\n\x1b[1mstep\x1b[0m 3\nend 4",
    "delimited": b'step,loss\r\n1,2.5\n2,\n"3","a ""b"", c\nd"\n4,-inf\n\n5,1e400',
    "json": b'{"a": 1, "b": [1, 2]}\r\n{"a": 2.5, "t": "2026-05-20 00:00:00"}\n\n{"a": "nan"}\n[1, 2\n{"a": 4}',
}


@pytest.mark.parametrize("mode", MODES)
def test_rows_are_the_same_wherever_the_bytes_are_cut(mode):
    data = TEXTS[mode]
    expected = str(scanned(data, MODES[mode]))
    for cut in range(len(data)):
        assert str(scanned(data, MODES[mode], cuts=(cut,))) == expected
    assert str(scanned(data, MODES[mode], cuts=tuple(range(1, len(data))))) == expected


# ---- cells


@pytest.mark.parametrize("word", ["", " ", "NA", "n/a", "None", "null", "-", "nil"])
def test_words_for_a_missing_value_are_empty_cells(word):
    assert [type for _, type, _ in tokens_of(f"1,{word},2", kernel.DELIMITED)] == [
        kernel.NUMBER,
        kernel.EMPTY,
        kernel.NUMBER,
    ]


def test_a_decimal_comma_is_read_only_where_it_cannot_be_a_delimiter():
    assert values_of("0;2,5;1,25e-3", kernel.DELIMITED, delimiter=";", decimal_comma=True) == [0.0, 2.5, 1.25e-3]
    assert [type for _, type, _ in tokens_of('1,"1,5"', kernel.DELIMITED)] == [kernel.NUMBER, kernel.WORD]


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(
        st.lists(st.floats() | st.text(st.characters(blacklist_categories=["Cs", "Cc"])), min_size=2, max_size=5),
        min_size=1,
        max_size=8,
    )
)
def test_cells_are_those_of_the_csv_module(rows):
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    scanner = kernel.LineScanner(kernel.DELIMITED)
    data, at = out.getvalue().encode(), 0
    for row in csv.reader(io.StringIO(out.getvalue())):
        scanner = kernel.LineScanner(kernel.DELIMITED)
        end, shape = scanner.feed(data, at, last=True)
        assert shape is not None
        assert len(shape[2]) == len(row)
        for cell, (_, _, type, value) in zip(row, shape[2], strict=True):
            if type == kernel.NUMBER:
                assert str(float(cell)) == str(value)
        scanner.learn(shape[0], kernel.IGNORED)
        fresh = kernel.LineScanner(kernel.DELIMITED)
        fresh.feed(data, at, last=True)
        fresh.learn(shape[0], kernel.IGNORED)
        at = end + len(shape[1])
        at += 2 if data[at : at + 2] == b"\r\n" else 1


@settings(max_examples=150, deadline=None)
@given(
    record=st.dictionaries(
        st.text(max_size=6),
        st.floats() | st.integers(-(2**62), 2**62) | st.text(max_size=6) | st.none() | st.booleans(),
        min_size=1,
        max_size=6,
    )
)
def test_the_numbers_of_a_json_object_are_found_in_order(record):
    expected = []
    for value in record.values():
        if isinstance(value, str):
            if value.lstrip("+-").lower() in ("nan", "inf", "infinity") and len(value) - len(value.lstrip("+-")) < 2:
                expected.append(str(float(value)))
        elif value is not None and not isinstance(value, bool):
            expected.append(str(float(value)))
    assert [str(value) for value in values_of(json.dumps(record), kernel.JSON)] == expected


# ---- anything

_HOSTILE = st.binary(max_size=400) | st.text(
    '{}[]",:;\\ \t\n\r\x00\x01\x1b[m0123456789.eE+-naifNALoss%|#', max_size=400
).map(str.encode)


@settings(max_examples=400, deadline=None)
@given(data=_HOSTILE, mode=st.sampled_from(list(MODES.values())), cut=st.integers(0, 400))
def test_any_bytes_are_scanned_and_the_cut_does_not_matter(data, mode, cut):
    whole = scanned(data, mode)
    assert str(scanned(data, mode, cuts=(min(cut, len(data)),))) == str(whole)


@pytest.mark.parametrize(
    "line",
    ["[" * 200_000, '{"a":' * 50_000, "," * 200_000, "1 " * 200_000, '"' * 100_001, "1e" * 100_000, "-" * 300_000],
)
@pytest.mark.parametrize("mode", MODES)
def test_long_hostile_lines_take_no_longer_than_others(line, mode):
    scanned(line.encode() + b"\n" + b"x 1\n", MODES[mode])
