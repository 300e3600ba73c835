"""Who was asked about an image, however many annotators there are."""

from bboxqa.formats.document import Where
from bboxqa.formats.translation.collector import Collector


class _Names(list):
    """A list of names that refuses to be searched."""

    def __contains__(self, name):
        raise AssertionError("the names of an image are searched")


def test_annotators_of_an_image_are_listed_once_in_their_order():
    # Searching the names of 35,000 annotators of one image took 17 s.
    into = Collector("VOC", lambda *_: None)
    image, other = (into.image(name, Where("", 1)) for name in "ab")
    image["annotators"] = _Names()
    for name in ("bob", "ann", "bob", "ann"):
        into.ask(image, name)
    into.ask(other, "bob")
    assert [*image["annotators"]] == ["bob", "ann"]
    assert other["annotators"] == ["bob"]
