"""The registry of writers: to add one, write a `Writer` in its format's folder, and a line here."""

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import unknown_name
from bboxqa.formats.box_tables.writer import CSV, PARQUET
from bboxqa.formats.coco.writer import COCO_JSON
from bboxqa.formats.cvat.writer import CVAT_XML
from bboxqa.formats.dota.writer import DOTA
from bboxqa.formats.label_studio.writer import STUDIO_JSON
from bboxqa.formats.labelme.writer import LABELME
from bboxqa.formats.masks.writer import MASKS
from bboxqa.formats.voc.writer import VOC
from bboxqa.formats.writing.content import Writer
from bboxqa.formats.yolo.writer import YOLO, YOLO_OBB, YOLO_POSE, YOLO_SEGMENT

WRITERS: dict[str, Writer] = {
    "coco": COCO_JSON,
    "label-studio": STUDIO_JSON,
    "csv": CSV,
    "parquet": PARQUET,
    "cvat": CVAT_XML,
    "yolo": YOLO,
    "yolo-segment": YOLO_SEGMENT,
    "yolo-obb": YOLO_OBB,
    "yolo-pose": YOLO_POSE,
    "dota": DOTA,
    "voc": VOC,
    "labelme": LABELME,
    "masks": MASKS,
}


def names() -> tuple[str, ...]:
    """Return the names of all formats that can be written.

    Examples
    --------
    >>> names()[:5]
    ('coco', 'label-studio', 'csv', 'parquet', 'cvat')
    """
    return tuple(WRITERS)


def writer(name: str) -> Writer:
    """Return the writer of this name; raises ConfigError if there is none."""
    if name not in WRITERS:
        raise ConfigError(unknown_name(name, names()), "to")
    return WRITERS[name]
