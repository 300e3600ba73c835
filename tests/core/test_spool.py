"""What does not fit in memory: the same result from a file."""

import json
import mmap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cli import python, run
from support.datasets import annotation, document, image, write

from bboxqa.core import spool as module
from bboxqa.core.errors import OutputError
from bboxqa.core.spool import (
    Spool,
    SpooledColumn,
    check_memory,
    column_limit,
    spilled,
    vertex_limit,
)
from bboxqa.model.selection import select_annotations
from bboxqa.pipelines.read import read_coco
from bboxqa.pipelines.validate import validate

numbers = st.lists(st.lists(st.floats(-1e9, 1e9), max_size=5), max_size=12)


@given(numbers, st.sampled_from([None, 0, 8, 24, 10**6]))
def test_gives_back_what_it_was_given(parts, limit):
    spool = Spool(limit)
    for part in parts:
        spool.add(np.array(part, np.float64).tobytes())
    found = spool.done(np.dtype(np.float64))
    assert found.tolist() == [number for part in parts for number in part]
    assert found.dtype == np.float64


def is_mapped(array):
    base = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return isinstance(base, mmap.mmap)


@given(numbers, st.sampled_from([None, 0, 8, 24, 10**6]), st.sampled_from([0, 1]))
def test_a_column_is_its_windows_one_after_the_other(parts, limit, width):
    column = SpooledColumn(np.float64, width, limit)
    for place, part in enumerate(parts):
        column.add(np.array(part) if place % 2 else part)
    found = column.done()
    assert found.shape == ((sum(map(len, parts)), 1) if width else (sum(map(len, parts)),))
    assert found.ravel().tolist() == [number for part in parts for number in part]


@given(st.integers(0, 50), st.integers(1, 4), st.sampled_from([None, 0, 100, 10**6]))
def test_a_stored_array_is_the_same(n, width, limit):
    array = np.arange(n * width, dtype=np.int32).reshape(n, width)
    found = spilled(array, limit)
    assert np.array_equal(found, array)
    assert (found.shape, found.dtype) == (array.shape, array.dtype)
    assert is_mapped(found) == (limit is not None and array.nbytes > limit)


def test_a_file_has_more_columns_than_one():
    assert column_limit(None) is None
    assert column_limit(25_600) == 100
    assert (vertex_limit(None), vertex_limit(400)) == (None, 100)


def test_holds_no_more_than_its_limit():
    spool = Spool(100)
    for _ in range(50):
        spool.add(b"x" * 40)
        assert len(spool._held) <= 100
    assert spool._written == 50 * 40 - len(spool._held)
    assert len(spool.done(np.dtype(np.float64))) == 250


def test_no_room_for_the_file(monkeypatch):
    class Full:
        def write(self, _):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.tempfile, "TemporaryFile", lambda **_: Full())
    spool = Spool(1)
    with pytest.raises(OutputError, match="no room for temporary files: No space left on device"):
        spool.add(b"12345678")


@pytest.fixture
def file(tmp_path):
    """Return a file of outlines by two annotators."""
    rng = np.random.default_rng(0)
    annotations = []
    for number in range(1, 13):
        for who in "ab":
            x, y = rng.uniform(0, 40, 2).round(2).tolist()
            outline = [x, y, x + 20, y, x + 22, y + 18, x + 1, y + 20]
            annotations.append(
                annotation(
                    len(annotations) + 1,
                    1 + number % 3,
                    bbox=[x, y, 22, 20],
                    rater_id=who,
                    segmentation=[outline],
                )
            )
    images = [image(number, rater_list=["a", "b"]) for number in (1, 2, 3)]
    return write(tmp_path / "export.json", document(annotations, images))


def test_outlines_in_a_file_are_those_in_memory(file):
    held, spooled = read_coco(file), read_coco(file, memory=64)
    one, other = held.annotations.segmentation, spooled.annotations.segmentation
    for name in ("xy", "ring_offsets", "part_start", "part_stop", "kind"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
        assert is_mapped(getattr(other, name)), name
    for name in ("id", "image", "annotator", "category", "bbox", "iscrowd"):
        columns = [getattr(data.annotations, name) for data in (held, spooled)]
        assert np.array_equal(*columns), name
        assert columns[0].dtype == columns[1].dtype
        assert list(map(is_mapped, columns)) == [False, True], name
    assert not other.xy.flags.writeable


def test_some_of_what_is_in_files_stays_there(file, monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 1)
    held, spooled = (read_coco(file, memory=memory).annotations for memory in (None, 64))
    index = np.random.default_rng(0).permutation(len(held))[: len(held) // 2]
    expected, found = held.take(index), select_annotations(spooled, index)
    for name in ("id", "image", "annotator", "category", "bbox", "iscrowd"):
        columns = [getattr(each, name) for each in (expected, found)]
        assert np.array_equal(*columns), name
        assert list(map(is_mapped, columns)) == [False, True], name
    for place in range(len(index)):
        rings = zip(expected.segmentation.rings(place), found.segmentation.rings(place),
                    strict=True)  # fmt: skip
        assert all(np.array_equal(*pair) for pair in rings)
    assert not is_mapped(select_annotations(held, index).bbox)


def test_outlines_of_several_files(file, tmp_path):
    whole = json.loads(file.read_text())
    files = []
    for who in "ab":
        own = [each for each in whole["annotations"] if each["rater_id"] == who]
        files.append(write(tmp_path / f"{who}.json", {**whole, "annotations": own}))
    held, spooled = read_coco(files), read_coco(files, memory=64)
    one, other = held.annotations.segmentation, spooled.annotations.segmentation
    for name in ("xy", "ring_offsets", "part_start", "part_stop", "kind", "counts_start"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
        assert is_mapped(getattr(other, name)), name
    # As they were given, before the files were joined.
    together = read_coco(file).annotations
    assert held.annotations.id.tolist() == together.id.tolist()
    for place in range(len(together)):
        rings = zip(
            together.segmentation.rings(place), held.annotations.segmentation.rings(place),
            strict=True,
        )  # fmt: skip
        assert all(np.array_equal(*pair) for pair in rings)


@pytest.mark.parametrize("similarity", ["polygon", "mask", "pixel", "bbox"])
def test_memory_changes_no_result(file, similarity):
    def summary(*options):
        found = run("agree", file, "--similarity", similarity, "--format", "json", *options)
        assert found.returncode == 0, found.output
        return json.loads(found.output)

    assert summary("--memory", "0.1KB") == summary()


@pytest.mark.parametrize("do", [read_coco, validate])
def test_memory_that_cannot_do_is_refused(file, do, monkeypatch):
    n = len(json.loads(file.read_text())["annotations"])
    monkeypatch.setattr(module, "_OF_PROGRAM", 0)
    with pytest.raises(OutputError) as error:
        do(file, memory=200 * n - 1)
    assert str(error.value) == (
        f"{file}: {n} annotations need 0.01 GB of memory; allow as much with --memory, or divide "
        "the file"
    )
    do(file, memory=200 * n)


def test_what_is_needed_is_rounded_up():
    with pytest.raises(OutputError, match=r"10,020,000 annotations need 2\.01 GB of memory"):
        check_memory("x.json", 10_020_000, 2_000_000_000)


@pytest.mark.parametrize("text", ["", "2 XB", "GB", "-1MB", "1e3"])
def test_sizes_that_are_none(file, text):
    found = run("agree", file, "--memory", text)
    assert found.returncode == 2
    assert f"{text!r} is not a size; expected a number and a unit, such as 2GB" in found.output


def test_many_files_are_opened():
    """Each column of a large file is one, and systems allow 256 or 1,024 unless they are asked."""
    program = (
        "import resource\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))\n"
        "import numpy as np\n"
        "from bboxqa.core.spool import spilled\n"
        "kept = [spilled(np.arange(9), 8) for _ in range(100)]\n"
        "print(sum(int(each.sum()) for each in kept))\n"
    )
    pytest.importorskip("resource")
    done = python(program)
    assert done.stdout == "3600\n", done.stderr
