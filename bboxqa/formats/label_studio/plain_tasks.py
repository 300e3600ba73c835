"""Fast decoding of plain tasks, whose annotations are upright boxes with one label each."""

from typing import Annotated, Any, Literal

import msgspec

_Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]
_Side = Annotated[int, msgspec.Meta(ge=1, lt=1 << 31)]
_Nothing = Annotated[list[Any], msgspec.Meta(max_length=0)] | None


class PlainValue(msgspec.Struct, gc=False):
    """The shape of a result."""

    x: _Percent
    y: _Percent
    width: _Percent
    height: _Percent
    rectanglelabels: tuple[str]
    rotation: Literal[0] | None = 0


class PlainResult(msgspec.Struct, gc=False):
    """A result that is a complete region."""

    id: str
    type: Literal["rectanglelabels"]
    value: PlainValue
    original_width: _Side
    original_height: _Side
    image_rotation: Literal[0] | None = 0
    origin: Literal["manual"] | None = None
    score: None = None


class PlainWork(msgspec.Struct, gc=False):
    """An annotation."""

    result: list[PlainResult]
    completed_by: Any = None
    was_cancelled: Any = None
    ground_truth: Any = None
    created_at: Any = None
    updated_at: Any = None
    lead_time: Any = None


class PlainTask(msgspec.Struct, gc=False):
    """A task."""

    annotations: list[PlainWork]
    data: dict[str, Any]
    id: Any = None
    completions: _Nothing = None
    predictions: _Nothing = None
    drafts: _Nothing = None


_decode = msgspec.json.Decoder(PlainTask).decode


def plain_task(raw: msgspec.Raw) -> PlainTask | None:
    """Return a task; None if any part of it is not plain.

    Results with the same id are parts of one region, and not plain. All results of an image must
    have the same size.

    Examples
    --------
    >>> plain_task(msgspec.Raw(b'{"id": 7, "data": {}, "annotations": [{"result": []}]}')).id
    7
    >>> plain_task(msgspec.Raw(b'{"id": 7, "data": {}, "annotations": [31]}')) is None
    True
    """
    try:
        task = _decode(raw)
    except msgspec.ValidationError:
        return None
    sizes = set()
    for work in task.annotations:
        if len({result.id.strip() for result in work.result}) < len(work.result):
            return None
        sizes |= {(result.original_width, result.original_height) for result in work.result}
    labels = {each.value.rectanglelabels[0] for work in task.annotations for each in work.result}
    return task if len(sizes) <= 1 and all(label.strip() for label in labels) else None
