"""Parts of a data set, such as train and val, by image or by group of images."""

from collections import Counter
from collections.abc import Iterator
from posixpath import dirname

import msgspec
import numpy as np
from msgspec.structs import replace

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import count, first_few, one_line
from bboxqa.formats.writing.content import Content, image_name
from bboxqa.formats.writing.outlines import Record
from bboxqa.formats.writing.writer import Options, Writer, Written

_NEAR, _SHOWN = 1e-6, 5
FOLDER = "folder"
"""The group of images in one folder, by their names."""


class Parts(msgspec.Struct, frozen=True):
    """The parts to write, and how images get to them."""

    shares: tuple[tuple[str, float], ...]
    """The name of each part, and its share of the images."""
    seed: int = 0
    group_by: str | None = None
    """The key of image records whose values stay together, or "folder"."""

    def __post_init__(self) -> None:
        """Raise ConfigError if the shares are no shares of a whole, or a name is no plain one."""
        parts = [name.replace("-", "").replace("_", "").isalnum() for name, _ in self.shares]
        is_whole = abs(sum(share for _, share in self.shares) - 1) <= _NEAR
        are_shares = all(share > 0 for _, share in self.shares) and is_whole
        if len(dict(self.shares)) < max(len(parts), 2) or not (are_shares and all(parts)):
            shown = ",".join(f"{name}={share:g}" for name, share in self.shares)
            expected = "shares that sum up to 1, such as train=0.8,val=0.2"
            raise ConfigError(f"parts are {shown}; expected {expected}")

    def check(self, to_format: Writer) -> None:
        """Refuse parts without train and val for a format that names both to training."""
        if to_format.lists_parts and not {"train", "val"} <= {name for name, _ in self.shares}:
            raise ConfigError(f"{to_format.title} needs the parts train and val")

    def of_images(self, content: Content) -> dict[int, str]:
        """Return the part of each image, by its id; the same for any order of images.

        Groups are drawn at random, the largest first; each goes where most images are missing.
        Raises ConfigError if an image is in no group, or a part gets none.
        """
        groups: dict[str, list[int]] = {}
        for image in sorted(content.images, key=image_name):
            groups.setdefault(self._group_of(image, content), []).append(image["id"])
        rng = np.random.default_rng(self.seed)
        whole = [*groups.values()]
        drawn = [whole[place] for place in rng.permutation(len(whole))]
        wanted = {name: share * len(content.images) for name, share in self.shares}
        found: dict[int, str] = {}
        for group in sorted(drawn, key=len, reverse=True):
            part = max(wanted, key=lambda name: wanted[name])
            wanted[part] -= len(group)
            found |= dict.fromkeys(group, part)
        if empty := [name for name in wanted if name not in {*found.values()}]:
            some = f"{count(len(groups), 'group')} of {count(len(found), 'image')}"
            raise ConfigError(f"part {empty[0]} gets no image: there are {some}")
        return found

    def _group_of(self, image: Record, content: Content) -> str:
        name = image_name(image)
        if self.group_by is None:
            return name
        value: object = dirname(name) if self.group_by == FOLDER else image
        for key in self.group_by.split(".") if value is image else ():
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, dict | list) or value in (None, ""):
            keys = sorted({key for each in content.images for key in each} - {"annotators"})
            known = first_few([*keys, FOLDER], _SHOWN, one_line)
            problem = f"image {one_line(name)} has no {self.group_by!r} to group by"
            raise ConfigError(f"{problem}; expected a key of all images ({known})")
        return str(value)

    def note(self, found: dict[int, str]) -> str:
        """Return how many images each part has, and how they were drawn."""
        n_of = Counter(found.values())
        shown = ", ".join(f"{name} {n_of[name]:,}" for name, _ in self.shares)
        how = "image" if self.group_by is None else f"groups of equal {one_line(self.group_by)}"
        return f"images of parts, drawn by {how} with seed {self.seed}: {shown}"


def in_parts(to_format: Writer, of_images: dict[int, str]) -> Writer:
    """Return a writer of a folder with a file or folder for each part."""

    def parted(content: Content, options: Options) -> Iterator[Written]:
        for part in dict.fromkeys(of_images.values()):
            taken = _taken(content, {each for each, own in of_images.items() if own == part})
            for each in to_format.files(taken, options):
                parts = (part, *each.parts) if each.parts else (f"{part}{to_format.suffixes[0]}",)
                yield Written(parts, each.data)

    return replace(to_format, files=parted)


def _taken(content: Content, ids: set[int]) -> Content:
    """Return the content of some images, with all categories."""
    places = [place for place, each in enumerate(content.images) if each["id"] in ids]
    return replace(
        content,
        images=[content.images[place] for place in places],
        asked=[content.asked[place] for place in places],
        annotations=[each for each in content.annotations if each["image_id"] in ids],
        apart=[each for each in content.apart if each.get("image_id") in ids],
    )
