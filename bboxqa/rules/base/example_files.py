"""Completing the examples of rules with default values for omitted keys."""

from typing import Any

from bboxqa.rules.base.rule import ABSENT, Example, Files

_DEFAULT: dict[str, dict[str, Any]] = {
    "images": {"id": 1, "file_name": "a.jpg", "width": 100, "height": 80},
    "categories": {"id": 1, "name": "cat", "supercategory": "animal"},
    "annotations": {
        "id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 30], "area": 600,
        "iscrowd": 0,
    },
}  # fmt: skip
_ANIMALS = ("dog", "bird", "cow", "fox", "hen")


def records(example: Example) -> dict[str, Any]:
    """Return the lists of an example, with default values for omitted keys.

    By default, the n-th record of a list has the id n, and images and categories have unique names.

    Examples
    --------
    >>> records({"categories": [{"name": "dog"}]})
    {'categories': [{'id': 1, 'name': 'dog', 'supercategory': 'animal'}]}
    """
    if isinstance(example, str | Files):
        return {}
    return {key: _completed(key, value) for key, value in example.items() if value is not ABSENT}


def _completed(key: str, value: Any) -> Any:
    if key not in _DEFAULT or not isinstance(value, list):
        return value
    return [
        _record(key, place, given) if isinstance(given, dict) else given
        for place, given in enumerate(value)
    ]


def _record(key: str, place: int, given: dict[str, Any]) -> dict[str, Any]:
    record = {**_DEFAULT[key], "id": place + 1}
    if key == "images" and place:
        record["file_name"] = f"{'bcdefgh'[(place - 1) % 7]}.jpg"
    if key == "categories" and place:
        record["name"] = _ANIMALS[(place - 1) % len(_ANIMALS)]
    # The default area is the area of the box.
    box = given.get("bbox")
    if isinstance(box, list) and len(box) == 4 and all(type(n) in (int, float) for n in box):
        record["area"] = box[2] * box[3]
    return {name: inner for name, inner in {**record, **given}.items() if inner is not ABSENT}
