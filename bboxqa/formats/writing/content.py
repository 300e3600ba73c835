"""What is written: the annotations of a data set as records of COCO, with all that files say."""

from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count

Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Content:
    """Images, categories and annotations, with whole and unique ids."""

    images: Sequence[Record]
    """Each has `id` and, where they are known, `file_name`, `width`, `height`, and `annotators`:
    who was asked; `own_id`, the id in its file, where that is text."""
    categories: Sequence[Record]
    """Each has `id` and `name`."""
    annotations: Sequence[Record]
    """Each has `id`, `image_id`, `category_id` and `bbox`; `annotator` where somebody is named, and
    `own_id`, the text of the id that its tool shows, where that is no whole number. One with key
    points and no box has their extent as `bbox`, and says by `shape` what it is."""
    apart: Sequence[Record] = ()
    """What has no box, by the words under `shape`."""
    asked: Sequence[Sequence[str]] = ()
    """For each image who was asked, also where its record does not say it; empty where nobody is
    named."""
    top: Record = field(default_factory=dict)
    """What a file of COCO says of all of it, such as `info`."""

    @cached_property
    def annotators(self) -> list[str]:
        """Who is named, sorted."""
        named = {name for names in self.asked for name in names}
        return sorted(
            named | {each["annotator"] for each in self.annotations if "annotator" in each}
        )

    @cached_property
    def category_names(self) -> dict[int, str]:
        """The names of categories by their ids."""
        return {each["id"]: each["name"] for each in self.categories}

    @cached_property
    def joint_names(self) -> dict[int, list[str]]:
        """The names of joints by the ids of categories; empty where they have none."""
        return {each["id"]: each.get("keypoints", []) for each in self.categories}

    @cached_property
    def by_image(self) -> dict[int, dict[str, list[Record]]]:
        """The annotations by image and annotator, who is "" where nobody is named."""
        found: dict[int, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
        for each in self.annotations:
            found[each["image_id"]][each.get("annotator", "")].append(each)
        return found

    def works(self, place: int) -> list[tuple[str, list[Record]]]:
        """Return who was asked about the image at a place, each with what they drew there."""
        drawn = self.by_image.get(self.images[place]["id"], {})
        names = list(dict.fromkeys((*self.asked[place], *drawn)))
        if not names and not self.annotators:
            names = [""]
        return [(name, drawn.get(name, [])) for name in sorted(names)]

    def check_sizes(self, title: str, needed: Container[int] | None = None) -> None:
        """Refuse images whose size is not known, among those that are needed, by id."""
        wrong = [
            image_name(each)
            for each in self.images
            if not (each.get("width") and each.get("height"))
            if needed is None or each["id"] in needed
        ]
        if wrong:
            some = count(len(wrong), "image")
            raise DatasetError(
                [f"{some} without width and height, such as {wrong[0]!r}; {title} needs them"],
                "Add the size of each image to the files that are read, or say it for all of them: "
                "--image-size 1920x1080",
            )


def without_points(content: Content) -> Content:
    """Return a content in which annotations with key points and no box are apart."""
    apart = [each for each in content.annotations if "shape" in each]
    kept = [each for each in content.annotations if "shape" not in each]
    return replace(content, annotations=kept, apart=[*content.apart, *apart])


def image_name(image: Record) -> str:
    """Return the file name of an image; its id where it has none."""
    return str(image.get("file_name") or image.get("own_id") or image["id"])


def shown_id(annotation: Record) -> str:
    """Return the id of an annotation as its tool shows it."""
    return str(annotation.get("own_id") or annotation["id"])
