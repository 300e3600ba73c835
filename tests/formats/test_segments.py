"""Tables of segments as people and ELAN write them."""

import codecs
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bboxqa.core.errors import DatasetError
from bboxqa.formats.recordings import milliseconds, read_segments

PLAIN = "start,end,label\n0.5,1.25,sit\n2,3,stand\n"


@pytest.fixture
def write(tmp_path):
    def file(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return file


def rows(segments):
    """Return the segments by names, as they stand in the files."""
    return [
        (segments.recording_names[r], segments.annotator_names[a], segments.tier_names[t], s, e,
         segments.label_names[v])
        for r, a, t, s, e, v in zip(
            *(getattr(segments, name).tolist()
              for name in ("recording", "annotator", "tier", "start", "end", "label")),
            strict=True,
        )
    ]  # fmt: skip


def refused(*paths, **more):
    with pytest.raises(DatasetError) as caught:
        read_segments(paths, **more)
    return caught.value


def problems(write, content, **more):
    path = write("a.csv", content)
    return [text.removeprefix(f"{path}: ") for text in refused(path, **more).problems]


def test_two_files_are_two_annotators(write):
    paths = [write("bob.csv", PLAIN), write("ann.csv", "start,end,label\n0.1,4.0,sit\n")]
    segments = read_segments(paths)
    assert rows(segments) == [
        ("recording", "bob", "segments", 500, 1250, "sit"),
        ("recording", "bob", "segments", 2000, 3000, "stand"),
        ("recording", "ann", "segments", 100, 4000, "sit"),
    ]
    assert segments.annotator_names == ("ann", "bob")
    assert segments.asked.tolist() == [[True, True]]
    assert segments.duration.tolist() == [4000]
    assert segments.line.tolist() == [2, 3, 2]
    assert [segments.sources[place].name for place in segments.file] == [
        str(paths[place]) for place in (0, 0, 1)
    ]
    assert (segments.start.dtype, segments.label.dtype) == (np.int64, np.int32)
    assert any("taken to end with its last segment" in note for note in segments.notes)


def test_columns_for_everything(write):
    path = write(
        "all.csv",
        "video,coder,layer,onset_ms,offset_ms,code\n"
        "v2,10,posture,0,500,sit\nv1,9,posture,0,400,sit\nv1,10,speech,100,200,talk\n",
    )
    segments = read_segments([path])
    assert rows(segments) == [
        ("v2", "10", "posture", 0, 500, "sit"),
        ("v1", "9", "posture", 0, 400, "sit"),
        ("v1", "10", "speech", 100, 200, "talk"),
    ]
    assert segments.annotator_names == ("9", "10")
    assert segments.asked.tolist() == [[True, True], [False, True]]
    assert segments.duration.tolist() == [400, 500]
    assert "1 recording by only one annotator, not compared: v2" in segments.notes
    assert "9 has no segment in the tier 'speech': taken to have marked nothing" in segments.notes


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", ";").replace(".", ","),
        PLAIN.replace("\n", "\r\n"),
        '"start","end","label"\n"0.5","1.25","sit"\n2,3,"stand"\n',
        "Begin Time (s), Stop, Category\n 0.5 , 1.25 , sit\n\n2,3,stand\n,,\n",
        "label;xmax;note;xmin\nsit;1.25;;0.5\nstand;3;hm;2\n",
        "start,end,label\n0:00.5,0:00:01.250,sit\n00:02,00:00:03,stand\n",
        "start_ms,end_ms,label\n500,1250,sit\n2000.0,3e3,stand\n",
        "# made by hand\nstart,end,label\n0.5,1.25,sit\n2,3,stand\n",
    ],
)
def test_ways_to_write_the_same(write, text):
    found = [row[3:] for row in rows(read_segments([write("a.csv", text)]))]
    assert found == [(500, 1250, "sit"), (2000, 3000, "stand")]


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"), (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)  # fmt: skip
def test_encodings(write, mark, encoding):
    text = PLAIN.replace("sit", "sitzt schön")
    segments = read_segments([write("a.csv", mark + text.encode(encoding))])
    assert segments.label_names == ("sitzt schön", "stand")


# Units.


def test_nothing_says_the_unit(write):
    error = refused(write("a.csv", "start,end,label\n1,12.0,k\n"))
    assert "the file does not show whether the times are seconds or milliseconds" in str(error)
    assert "none has decimals, such as '1'" in str(error)
    assert "--unit" in error.advice


@given(st.integers(0, 10**10))
def test_seconds_become_milliseconds_exactly(time):
    assert milliseconds(f"{Decimal(time) / 1000}", "s") == time
    clock = f"{time // 3_600_000}:{time // 60_000 % 60:02}:{time // 1000 % 60:02}.{time % 1000:03}"
    assert milliseconds(clock, "ms") == time


@given(st.decimals(0, 10**6, places=7))
def test_rounding_is_half_to_even(time):
    assert milliseconds(f"{time:f}", "s") == round(Fraction(time) * 1000)


@pytest.mark.parametrize(
    "text", ["", "abc", "nan", "inf", "1:2:3:4", "0:60", "1e99", "1,000.5", "٣"]
)
def test_no_times(text):
    assert milliseconds(text, "s") is None


# Recordings and durations.


def test_durations(write):
    path = write("a.csv", "recording,start,end,label\nam,0.5,1,k\npm,0.5,2,k\n")
    assert read_segments([path], duration_ms=3000).duration.tolist() == [3000, 3000]
    assert not any("taken to end" in n for n in read_segments([path], duration_ms=3000).notes)
    assert "lasts 1500 ms" in refused(path, duration_ms=1500).problems[0]


# ELAN.

ELAN = (
    "posture\tK\t00:00:00.500\t0.5\t500\t00:00:01.250\t1.25\t1250\t00:00:00.750\t0.75\t750\tsit\n"
    'speech\tK\t00:00:02.000\t2.0\t2000\t00:00:03.000\t3.0\t3000\t00:00:01.000\t1.0\t1000\t"hm\n'
)


def columns(*chosen):
    """Return the export with some columns only."""
    return "\n".join(
        "\t".join(row.split("\t")[place] for place in chosen) for row in ELAN.splitlines()
    )


@pytest.mark.parametrize(
    "text",
    [
        ELAN,
        ELAN.replace("\tK\t", "\t\t"),
        '"#file:///day.eaf"\n' + ELAN,
        columns(0, 1, 3, 6, 9, 11),
        ELAN.replace("sit\n", "sit\tday.eaf\n").replace("hm\n", "hm\tday.eaf\n"),
        "Tier\tBegin Time - msec\tEnd Time - msec\tAnnotation\n" + columns(0, 4, 7, 11),
    ],
)
def test_exports_of_elan(write, text):
    segments = read_segments([write("ann.txt", text)])
    assert rows(segments) == [
        ("recording", "ann", "posture", 500, 1250, "sit"),
        ("recording", "ann", "speech", 2000, 3000, '"hm'),
    ]


# What is wrong with a file.


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("0.5,soon,k\n1\n2.5,,\n-1.0,2,k\n", [
            "line 3: has 1 field; expected 3", "line 2: column 'end' is 'soon'; expected a",
            "line 4: column 'end' is empty; exp", "line 4: column 'label' is empty; expected",
        ]),
        ("-1.5,2,k\n3,3,k\n5,4,k\n", [
            "line 2: 'k' from -1500 ms to 2000 ms: expected a start of 0 or more",
            "line 3: 'k' from 3000 ms to 3000 ms: has no length; expected an end after the start",
            "line 4: 'k' from 5000 ms to 4000 ms: ends before it starts; expected start, then end",
        ]),
    ],
)  # fmt: skip
def test_all_problems_at_once(write, rows, expected):
    found = problems(write, f"start,end,label\n{rows}")
    assert len(found) == len(expected)
    assert all(map(str.startswith, found, expected)), found


def test_missing_columns(write):
    path = write("a.csv", "begin,finish,note\n1,2,k\n")
    error = refused(path)
    assert [text.removeprefix(f"{path}: ")[:30] for text in error.problems] == [
        "line 1: has no column 'end'; f",
        "line 1: has no column 'label';",
    ]
    assert "found 'begin', 'finish', 'note'; expected 'end' or one of: stop" in str(error)
    assert "has to name the columns" in error.advice
    assert "has no column 'start'" in problems(write, "0,1.5,sit\n")[0]


def test_files_that_cannot_be_read(tmp_path, write):
    broken = write("a.csv", b"start,end,label\n1.5,2,\xff\n")
    for path, problem in (
        (tmp_path / "none.csv", "no such file"),
        (tmp_path, "is a folder; expected a table of segments"),
        (broken, "line 2: is not utf-8: byte 22 of the file is 0xff"),
    ):
        error = refused(path)
        assert error.problems == (f"{path}: {problem}",)
    assert error.advice.endswith("Save the table as CSV in utf-8.")
    path = write("a.csv", PLAIN)
    assert refused(path, path).problems == (f"a file is given twice: {path}",)
