"""Long files of CVAT, whose second half another process looks at: the same as by one."""

import os
import sys
import zipfile

import numpy as np
import pytest
from support.cvat_xml import box, document, head, image, shape, track

import bboxqa
from bboxqa.core import parallel
from bboxqa.core.errors import DatasetError
from bboxqa.formats.cvat import cvat_elements, file_parts
from bboxqa.formats.cvat.plain_runs import PlainRun, PlainRuns
from bboxqa.formats.translation.members import members_of

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="a second process reads on Linux only"
)


@pytest.fixture
def _two_processes(monkeypatch):
    monkeypatch.setattr(file_parts, "LONG", 0)
    monkeypatch.setattr(parallel, "cores", lambda: 2)


def images(n=1600, odd=""):
    rng = np.random.default_rng(4)
    parts = []
    for number in range(n):
        x, y = rng.uniform(0, 40, 2)
        labelled = box(x, y, x + 9, y + 9, str(rng.choice(["cat", "dog"])))
        parts.append(image(f"{number}.jpg", labelled, odd if number % 7 == 0 else ""))
    return parts


def tracks(n=1200):
    return [
        track(n, *(box(n % 50, 5, n % 50 + 9, 20, frame=frame) for frame in (0, 1)))
        for n in range(n)
    ]


def everything(path):
    data = bboxqa.read_coco(path, min_annotators=1)
    of = data.annotations
    shown = of.shown_ids(np.arange(len(of)))
    found = [(each.code, str(each.spot), each.message) for each in bboxqa.validate(path).findings]
    columns = (of.id, of.image, of.category, of.annotator, of.bbox)
    return [each.tolist() for each in columns], shown, data.image_names, data.notes, found


POLYGON = shape("polygon", "bird", points="1,1;20,1;20,20")
COMMENT = "  <!-- \n  </image>\n  <image -->\n"
CASES = {
    "boxes": images(),
    "other shapes": images(odd=POLYGON),
    "tracks": tracks(),
    "a comment at the beginning": [COMMENT, *images()],
    "a comment at the end": [*images(), COMMENT],
}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("case", CASES)
def test_two_processes_find_the_same(case, line_end, tmp_path, monkeypatch, request):
    path = tmp_path / "a.xml"
    path.write_bytes(document(head("ann"), *CASES[case]).replace("\n", line_end).encode())
    one = everything(path)
    request.getfixturevalue("_two_processes")
    assert everything(path) == one


@pytest.mark.usefixtures("_two_processes")
@pytest.mark.parametrize(("bounded", "is_used"), [(False, True), (True, False)])
def test_half_of_the_boxes_come_from_the_other_process(bounded, is_used, tmp_path, monkeypatch):
    path = tmp_path / "a.xml"
    path.write_text(document(head("ann"), *images()))
    here = []
    real = PlainRuns.parts
    monkeypatch.setattr(
        PlainRuns, "parts", lambda *given: (here.append(part) or part for part in real(*given))
    )
    (member,) = members_of(path)
    parts = [*file_parts.parts_of(member, PlainRuns(), None, bounded=bounded)]
    n_here, n_all = (
        sum(len(part.bbox) for part in some if isinstance(part, PlainRun)) for some in (here, parts)
    )
    assert n_all == 1600
    assert (600 < n_here < 1000) if is_used else n_here == 1600


@pytest.mark.parametrize("death", ["at once", "no process", "an exception"])
def test_whatever_happens_to_the_second_process(death, tmp_path, monkeypatch, request, capfd):
    path = tmp_path / "a.xml"
    path.write_text(document(head("ann"), *images()))
    one = everything(path)
    request.getfixturevalue("_two_processes")

    def no_fork():
        raise BlockingIOError

    if death == "no process":
        monkeypatch.setattr(os, "fork", no_fork)
    elif death == "an exception":
        monkeypatch.setattr(file_parts, "_second_half", lambda *_, **__: 1 / 0)
    else:
        monkeypatch.setattr(parallel, "_send", lambda *_: os._exit(9))
    assert everything(path) == one
    assert capfd.readouterr().err == ""


def test_broken_files_are_refused_with_the_same_words(tmp_path, request):
    whole = document(head("ann"), *images())
    texts = {
        "cut off": whole[:-400],
        "wrong": whole.replace('name="1500.jpg"', 'name=1500.jpg"'),
        "early": whole.replace('name="3.jpg"', "name=3.jpg"),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.xml").write_text(text)

    def problems(name):
        with pytest.raises(DatasetError) as error:
            bboxqa.read_coco(tmp_path / f"{name}.xml", min_annotators=1)
        return error.value.problems

    one = {name: problems(name) for name in texts}
    request.getfixturevalue("_two_processes")
    assert {name: problems(name) for name in texts} == one


@pytest.mark.usefixtures("_two_processes")
def test_packed_files_are_read_by_one(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("annotations.xml", document(head("ann"), *images()))
    (member,) = members_of(path)
    assert len([*cvat_elements.elements_of(member, runs=PlainRuns())]) > 0
    assert len(bboxqa.read_coco(path, min_annotators=1).annotations) == 1600
