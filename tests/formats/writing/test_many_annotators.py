"""Writing very many annotators, labels and names takes work and space of their number."""

import pytest

from bboxqa.core.errors import DatasetError
from bboxqa.formats.cvat.writer import CVAT_XML
from bboxqa.formats.writing import names
from bboxqa.formats.writing.content import Content
from bboxqa.formats.writing.writer import Options
from bboxqa.formats.yolo.writer import YOLO


class _Counted(list):
    """A list that counts how often it is gone through."""

    n = 0

    def __iter__(self):
        self.n += 1
        return super().__iter__()


def _content(n_annotators, n_categories=1):
    people = [f"p{number}" for number in range(n_annotators)]
    box = {"image_id": 1, "category_id": 1, "bbox": [1, 1, 2, 2]}
    return Content(
        images=_Counted([{"id": 1, "file_name": "a.jpg", "width": 9, "height": 9}]),
        categories=[{"id": number + 1, "name": f"c{number}"} for number in range(n_categories)],
        annotations=_Counted(
            {"id": number + 1, "annotator": name, **box} for number, name in enumerate(people)
        ),
        asked=[people],
    )


def test_annotations_are_not_gone_through_for_each_annotator():
    # The files of 4,900 annotators took 35 s.
    times = []
    for n_annotators in (2, 50):
        content = _content(n_annotators)
        assert len([*CVAT_XML.files(content, Options())]) == n_annotators
        times.append((content.images.n, content.annotations.n))
    assert times[0] == times[1]


def test_all_labels_in_the_files_of_very_many_annotators_are_refused():
    content = _content(20_000, 20_000)
    with pytest.raises(DatasetError, match=r"YOLO needs all 20,000 labels in .*: 6\.8 GB"):
        next(YOLO.files(content, Options()))
    with pytest.raises(DatasetError) as found:
        next(CVAT_XML.files(content, Options()))
    assert str(found.value) == (
        "CVAT needs all 20,000 labels in the files of each of 20,000 annotators: 54.6 GB; "
        "expected at most 1 GB\n"
        "Convert the annotations of fewer annotators at a time, or to COCO."
    )


def test_a_name_that_looks_numbered_gets_a_number_of_its_own():
    given = ["a", "A (2)", "A", "a (2)"]
    found = [parts for (parts,) in names.safe_paths(given).values()]
    assert found == ["a", "A (2)", "A (3)", "a (2) (2)"]
