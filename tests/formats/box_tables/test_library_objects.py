"""Data sets of FiftyOne and supervision: classes with their documented attributes stand in."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.tool_files import asked, drawn

import bboxqa
from bboxqa import read_coco
from bboxqa.core.errors import DatasetError


class Detections:
    """Of FiftyOne where it has detections, of supervision where it has corners."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Samples:
    def __init__(self, *samples, media_type="image"):
        self._samples = samples
        self.media_type = media_type

    def iter_samples(self):
        return iter(self._samples)


class Sample(dict):
    @property
    def field_names(self):
        return tuple(self)

    def __getattr__(self, name):
        return self[name]


class OfSupervision(Detections):
    def __init__(self, xyxy, class_id=None, **data):
        super().__init__(xyxy=np.array(xyxy, np.float32), class_id=class_id, data=data)


Samples.__module__ = "fiftyone.core.dataset"
OfSupervision.__module__ = "supervision.detection.core"


def box(x, y, label="cat", **attributes):
    """Return a detection of a tenth of the image at shares of it."""
    return SimpleNamespace(label=label, bounding_box=[x, y, 0.1, 0.1], **attributes)


def sample(name, size=(200, 100), **fields):
    metadata = None if size is None else SimpleNamespace(width=size[0], height=size[1])
    held = {
        field: None if found is None else Detections(detections=found)
        for field, found in fields.items()
    }
    return Sample(id="a1", filepath=f"/data/set/{name}", metadata=metadata, tags=[], **held)


def test_a_field_of_fiftyone_is_an_annotator():
    data = read_coco(
        Samples(
            sample("x/a.jpg", ann=[box(0.1, 0.2)], bob=[box(0.1, 0.2), box(0.5, 0.5, "dog")]),
            sample("b.jpg", ann=[], bob=[box(0, 0)]),
            sample("c.jpg", ann=[], bob=None),
        )
    )
    # Shares of 200 × 100 pixels.
    assert drawn(data) == [
        ("b.jpg", "bob", "cat", 0, 0, 20, 10),
        ("x/a.jpg", "ann", "cat", 20, 20, 20, 10),
        ("x/a.jpg", "bob", "cat", 20, 20, 20, 10),
        ("x/a.jpg", "bob", "dog", 100, 50, 20, 10),
    ]
    # A field that is None was not annotated; one without detections was.
    assert asked(data) == {"x/a.jpg": ["ann", "bob"], "b.jpg": ["ann", "bob"], "c.jpg": ["ann"]}
    assert [each.name for each in data.sources] == ["dataset"]


@pytest.mark.parametrize("key", [None, "worker"])
def test_an_attribute_of_detections_names_the_annotator(key):
    ann, bob = ({key or "annotator": who} for who in ("ann", "bob"))
    found = Samples(
        sample("a.jpg", truth=[box(0.1, 0.2, **ann), box(0.1, 0.2, **bob)], model=[box(0, 0)]),
        sample("b.jpg", truth=[box(0.1, 0.2, **bob)], model=[]),
    )
    data = read_coco(found, annotator_key=key)
    assert asked(data) == {"a.jpg": ["ann", "bob", "model"], "b.jpg": ["bob", "model"]}


def test_an_attribute_that_no_detection_has_is_refused():
    found = Samples(sample("a.jpg", ann=[box(0, 0)], bob=[box(0, 0)]))
    with pytest.raises(DatasetError, match="no detection has the attribute 'worker'"):
        read_coco(found, annotator_key="worker")


@pytest.mark.parametrize(
    ("media", "words", "advice"),
    [
        ("group", "groups of samples, of which one slice would be read", "select_group_slices"),
        ("video", "videos, whose frames are not read", "to_frames(sample_frames=True)"),
    ],
)
def test_samples_that_would_be_left_out_are_refused(media, words, advice):
    found = Samples(sample("a.jpg", ann=[box(0, 0)], bob=[box(0, 0)]), media_type=media)
    with pytest.raises(DatasetError, match=words) as caught:
        read_coco(found)
    assert advice in caught.value.advice


def test_a_view_of_patches_is_refused():
    patch = Sample(id="a1", filepath="/data/a.jpg", metadata=None, gt=box(0, 0))
    with pytest.raises(DatasetError, match="no sample has a field with Detections") as caught:
        read_coco(Samples(patch))
    assert "view of patches" in caught.value.advice


def test_shares_need_the_size_of_the_image():
    found = Samples(sample("a.jpg", None, ann=[box(0.5, 0.5)], bob=[box(0.5, 0.5)]))
    with pytest.raises(DatasetError, match="1 sample without metadata") as caught:
        read_coco(found)
    assert "compute_metadata()" in caught.value.advice
    with bboxqa.reading(image_size=(100, 40)):
        assert drawn(read_coco(found))[0][3:] == (50, 20, 10, 4)


def test_detections_of_supervision_by_image_and_annotator():
    ann = OfSupervision([[1, 2, 4, 6]], np.array([0]), class_name=np.array(["cat"]))
    bob = OfSupervision([[1, 2, 4, 6], [0, 0, 2, 2]], class_name=np.array(["cat", "dog"]))
    none = OfSupervision(np.empty((0, 4)))
    data = read_coco({"a.jpg": {"ann": ann, "bob": bob}, "b.jpg": {"ann": none, "bob": none}})
    assert drawn(data) == [
        ("a.jpg", "ann", "cat", 1, 2, 3, 4),
        ("a.jpg", "bob", "cat", 1, 2, 3, 4),
        ("a.jpg", "bob", "dog", 0, 0, 2, 2),
    ]
    assert asked(data) == {"a.jpg": ["ann", "bob"], "b.jpg": ["ann", "bob"]}


def test_classes_without_names_are_numbers():
    found = OfSupervision([[1, 2, 4, 6]], np.array([7]))
    assert read_coco({"a.jpg": {"ann": found, "bob": found}}).category_names == ("class 7",)


def test_detections_without_an_annotator_are_refused():
    with pytest.raises(DatasetError, match=r"a\.jpg: has no Detections by annotator") as caught:
        read_coco({"a.jpg": OfSupervision([[1, 2, 4, 6]])})
    assert "{image: {annotator: Detections}}" in caught.value.advice
