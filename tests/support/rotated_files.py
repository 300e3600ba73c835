"""Rotated boxes of two annotators, as files of the formats that hold them."""

import json
from dataclasses import dataclass, field, replace

import numpy as np

from bboxqa.rules.base.rule import Files
from support import cvat_xml

SIZE = (1000, 800)
N_IMAGES, N_BOXES = 6, 12


@dataclass(frozen=True)
class Box:
    """A box, and what its file says instead of the truth."""

    image: int
    who: str
    centre: tuple
    sides: tuple
    degrees: float
    angle: float | None = None
    corners: tuple | None = None
    track: str | None = None
    extra: dict = field(default_factory=dict)

    @property
    def written(self):
        return self.degrees if self.angle is None else self.angle

    def points(self):
        if self.corners is not None:
            return np.array(self.corners)
        turn = np.radians(self.degrees)
        along = np.array([np.cos(turn), np.sin(turn)]) * self.sides[0] / 2
        down = np.array([-np.sin(turn), np.cos(turn)]) * self.sides[1] / 2
        centre = np.array(self.centre)
        return np.array([centre - along - down, centre + along - down,
                         centre + along + down, centre - along + down])  # fmt: skip


def boxes(seed=0):
    """Return sound boxes: long ones that lie in all directions, nearly alike in each image."""
    random = np.random.default_rng(seed)
    found = []
    for image in range(N_IMAGES):
        main = random.uniform(0, 180)
        for who in ("ann", "bob"):
            for place in range(N_BOXES):
                centre = (140 + 240 * (place % 4), 140 + 240 * (place // 4))
                sides = (random.uniform(70, 100), random.uniform(20, 40))
                degrees = float((main + 180 * (place % 2) + random.uniform(-8, 8)) % 360)
                jitter = random.uniform(-20, 20, 2)
                found.append(Box(image, who, (centre[0] + jitter[0], centre[1] + jitter[1]),
                                 sides, degrees))  # fmt: skip
    return found


def changed(found, place, **values):
    """Return boxes with other values of one of them."""
    return [*found[:place], replace(found[place], **values), *found[place + 1 :]]


def coco(found, kind):
    """Return a COCO file: five numbers, eight, or four corners as the outline."""
    annotations = []
    for number, box in enumerate(found, start=1):
        ring = box.points().round(2).ravel().tolist()
        x, y = ring[::2], ring[1::2]
        record = {
            "id": number, "image_id": box.image + 1, "category_id": 1, "iscrowd": 0,
            "annotator": box.who, "area": round(box.sides[0] * box.sides[1], 2),
            "bbox": [min(x), min(y), max(x) - min(x), max(y) - min(y)],
        } | box.extra  # fmt: skip
        if kind == "five":
            record["bbox"] = [*box.centre, *box.sides, box.written]
        elif kind == "eight":
            record["bbox"] = ring
        if kind == "corners" or kind == "five and corners":
            record["segmentation"] = [ring]
        if kind == "five and corners":
            record["bbox"] = [*box.centre, *box.sides, box.written]
        annotations.append(record)
    images = [
        {"id": n + 1, "file_name": f"{n}.jpg", "width": SIZE[0], "height": SIZE[1]}
        for n in range(N_IMAGES)
    ]
    info = {"description": "rotated", "year": 2026}
    return json.dumps({"info": info, "licenses": [], "images": images,
                       "categories": [{"id": 1, "name": "ship", "supercategory": "vessel"}],
                       "annotations": annotations})  # fmt: skip


def label_studio(found):
    """Return an export of Label Studio, whose boxes turn about their top left corner."""
    tasks = []
    for image in range(N_IMAGES):
        works = []
        for who in ("ann", "bob"):
            results = []
            for place, box in enumerate(b for b in found if (b.image, b.who) == (image, who)):
                left, top = box.points()[0]
                value = {
                    "x": left / SIZE[0] * 100, "y": top / SIZE[1] * 100,
                    "width": box.sides[0] / SIZE[0] * 100, "height": box.sides[1] / SIZE[1] * 100,
                    "rotation": box.written, "rectanglelabels": ["ship"],
                }  # fmt: skip
                results.append({"id": f"r{place}", "type": "rectanglelabels", "value": value,
                                "original_width": SIZE[0], "original_height": SIZE[1],
                                "image_rotation": 0})  # fmt: skip
            works.append({"completed_by": {"email": f"{who}@x.org"}, "result": results})
        tasks.append({"id": image + 1, "data": {"image": f"{image}.jpg"}, "annotations": works})
    return json.dumps(tasks)


def cvat(found):
    """Return a project of CVAT with a task for each annotator."""
    text = cvat_xml.project((1, "ann", ""), (2, "bob", ""), labels=["ship"])
    for task, who in enumerate(("ann", "bob"), start=1):
        for image in range(N_IMAGES):
            shapes = [_cvat_box(b) for b in found if (b.image, b.who) == (image, who)]
            text += cvat_xml.image(
                f"{image}.jpg", *shapes, number=image, width=1000, height=800, task_id=task
            )
    return f"<annotations>\n{text}</annotations>"


def _cvat_box(box):
    (x, y), (w, h) = box.centre, box.sides
    turned = {"rotation": f"{box.written:.2f}"} if box.written else {}
    return cvat_xml.box(x - w / 2, y - h / 2, x + w / 2, y + h / 2, label="ship", **turned)


def voc(found):
    """Return files of roLabelImg, whose angles are radians."""
    files = {}
    for image in range(N_IMAGES):
        objects = ""
        for box in (b for b in found if b.image == image and b.who == "ann"):
            angle = np.radians(box.degrees) if box.angle is None else box.angle
            objects += (
                "\n<object><type>robndbox</type><name>ship</name><difficult>0</difficult><robndbox>"
                f"<cx>{box.centre[0]:.4f}</cx><cy>{box.centre[1]:.4f}</cy><w>{box.sides[0]:.4f}</w>"
                f"<h>{box.sides[1]:.4f}</h><angle>{angle:.6f}</angle></robndbox></object>"
            )
        files[f"Annotations/{image}.xml"] = (
            f"<annotation><filename>{image}.jpg</filename><size><width>1000</width>"
            f"<height>800</height><depth>3</depth></size>{objects}\n</annotation>"
        )
    return Files(files)


def dota(found):
    """Return label files of DOTA with whole pixels."""
    files = {}
    for image in range(N_IMAGES):
        labels = (b for b in found if b.image == image and b.who == "ann")
        lines = (" ".join(f"{v:.1f}" for v in b.points().round().ravel()) for b in labels)
        files[f"labelTxt/{image}.txt"] = "".join(f"{line} ship 0\n" for line in lines)
    return Files(files)


def yolo(found):
    """Return label files of YOLO with four corners, as shares of the image."""
    files = {"data.yaml": "names: [ship]\n"}
    for image in range(N_IMAGES):
        labels = (b for b in found if b.image == image and b.who == "ann")
        lines = (" ".join(f"{v:.6f}" for v in (b.points() / SIZE).ravel()) for b in labels)
        files[f"labels/{image}.txt"] = "".join(f"0 {line}\n" for line in lines)
        files[f"images/{image}.ppm"] = "P3 1000 800 255"
    return Files(files)


FORMATS = {
    "five": lambda found: coco(found, "five"),
    "eight": lambda found: coco(found, "eight"),
    "corners": lambda found: coco(found, "corners"),
    "five and corners": lambda found: coco(found, "five and corners"),
    "label studio": label_studio, "cvat": cvat, "voc": voc, "dota": dota, "yolo": yolo,
}  # fmt: skip
WITH_CORNERS = ("eight", "corners", "dota", "yolo")
WITH_ANGLES = ("five", "label studio", "cvat", "voc")
