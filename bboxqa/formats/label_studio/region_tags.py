"""The tags that the regions of a file are on."""

from collections.abc import Iterator
from typing import Any

import msgspec

from bboxqa.formats.label_studio.regions import is_on_image
from bboxqa.formats.label_studio.task_images import Tags, end_number, tag_of
from bboxqa.formats.translation.json_files import NoObject

_Other = dict[str, Any] | str | float | int | bool | None


class _Result(msgspec.Struct):
    type: object = None
    to_name: object = None


class _Work(msgspec.Struct):
    result: list[_Result | NoObject] | _Other = None


class _Task(_Work):
    """The parts of a task that have results, or a single annotation."""

    annotations: list[_Work | NoObject] | _Other = None
    completions: list[_Work | NoObject] | _Other = None
    predictions: list[_Work | NoObject] | _Other = None


def region_tags(text: bytes) -> Tags:
    """Return the tags that shapes in images are on, in all tasks of a file.

    Raises msgspec.DecodeError if the file is not JSON.

    Examples
    --------
    >>> region_tags(b'[{"result": [{"type": "rectanglelabels", "to_name": "img-1"}]}]')
    Tags(names=frozenset({'img-1'}), numbers=frozenset({'1'}))
    """
    found = msgspec.json.decode(text, type=list[_Task | NoObject] | _Task)
    tasks = found if isinstance(found, list) else [found]
    results = (each for task in tasks if isinstance(task, _Task) for each in _results_of(task))
    shapes = (each for each in results if is_on_image({"type": each.type}))
    names = frozenset(tag_of({"to_name": each.to_name}) for each in shapes) - {""}
    return Tags(names, frozenset(map(end_number, names)) - {""})


def _results_of(task: _Task) -> Iterator[_Result]:
    for works in ([task], task.annotations, task.completions, task.predictions):
        for work in works if isinstance(works, list) else ():
            if isinstance(work, _Work) and isinstance(work.result, list):
                yield from (each for each in work.result if isinstance(each, _Result))
