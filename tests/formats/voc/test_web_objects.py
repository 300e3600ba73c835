"""XML of the LabelMe web tool, as it writes it, and as CVAT does."""

import pytest
from support.tool_files import drawn, write

from bboxqa import DatasetError, read_coco

SIZE = "<imagesize><nrows>77</nrows><ncols>102</ncols></imagesize>"


def polygon(*points, user="ann"):
    of = "".join(f"<pt><x>{x}</x><y>{y}</y></pt>" for x, y in points)
    return f"<polygon><username>{user}</username>{of}</polygon>"


def thing(place, *, name="cat", deleted=0, more=""):
    return f"<object><name>{name}</name><deleted>{deleted}</deleted>{more}{place}</object>"


def mask(user="bob"):
    box = "<box><xmin>58</xmin><ymin>66</ymin><xmax>62</xmax><ymax>68</ymax></box>"
    return f"<segm><username>{user}</username>{box}<mask>a_mask_1.png</mask></segm>"


def xml(*objects):
    head = "<annotation><filename>a.png</filename><folder>day</folder>"
    return f"{head}{''.join(objects)}{SIZE}</annotation>"


SQUARE = [(43, 34), (45, 34), (45, 37), (43, 37)]


def test_who_drew_what_is_read_with_edges_from_0_on(tmp_path):
    boxed = thing(polygon((13, 19), (23, 19), (23, 30)), more="<type>bounding_box</type>")
    objects = [thing(polygon(*SQUARE)), thing(mask(), name="dog"), thing("<polygon/>", deleted=1)]
    write(tmp_path, **{"Annotations/a.xml": xml(*objects, boxed)})
    data = read_coco(tmp_path, min_annotators=1)
    assert drawn(data) == [
        ("a.png", "ann", "cat", 13, 19, 10, 11),
        ("a.png", "ann", "cat", 43, 34, 2, 3),
        ("a.png", "bob", "dog", 58, 66, 4, 2),
    ]
    assert data.image_size.tolist() == [[102, 77]]
    notes = " / ".join(data.notes)
    assert "1 mask in image files" in notes
    assert "1 object marked as deleted left out" in notes
    assert "corners" not in notes


def test_points_that_are_no_numbers_are_refused(tmp_path):
    write(tmp_path, **{"a.xml": xml(thing(polygon(*SQUARE[:2], ("x", 3))))})
    with pytest.raises(DatasetError, match="x is 'x'; expected a number"):
        read_coco(tmp_path, min_annotators=1)
