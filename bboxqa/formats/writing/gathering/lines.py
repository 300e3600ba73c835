"""Preparing annotations without a box, such as polylines, for writing."""

from collections.abc import Collection, Mapping, Sequence

from bboxqa.core.text import clean
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.records import annotator_name
from bboxqa.formats.writing.outlines import Record

# Keys that are replaced, or follow from others.
_REPLACED = ("category_id", "annotator", "keypoints", "num_keypoints", "joints")


def with_points(
    records: Record, file: AnnotationFile, author: str, people: Collection[str]
) -> Sequence[Record]:
    """Return the annotations of a file without a box, with `points`, `label` and `annotator`.

    Those without points, and those by nobody among the annotators, keep their `shape` only.

    Parameters
    ----------
    records : dict
        The COCO lists of the file, and its annotations without a box as `apart`.
    file : AnnotationFile
        The same file, with the names of categories as interpreted by the reader.
    author : str
        The annotator of all of the file; "" if it names annotators, or there are none.
    people : collection of str
        The annotators of the data set; empty if none are named.
    """
    names = {each["id"]: each["name"] for each in records["categories"]}
    pairs = zip(names.values(), file.categories, strict=True)
    renamed = {name: clean(category.name) for name, category in pairs}
    found: list[Record] = []
    for record in records.get("apart", ()):
        name = (author or _annotator(record)) if people else ""
        if "points" not in record or (people and name not in people):
            found.append({"shape": record["shape"]})
            continue
        whole = {key: each for key, each in record.items() if key not in _REPLACED}
        label = record.get("label") or names[record["category_id"]]
        whole["label"] = renamed.get(label, clean(label))
        found.append(whole | ({"annotator": name} if name else {}))
    return found


def _annotator(record: Mapping[str, object]) -> str:
    """Return the annotator whom a record names; "" if it names nobody."""
    inside = record.get("attributes")
    given = record.get("annotator")
    if not given and isinstance(inside, dict):
        given = inside.get("annotator")
    return annotator_name(given) if given else ""
