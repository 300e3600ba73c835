"""M: images in several files, which leak from one split into another."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.formats.records import UNNAMED
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import Checked, Found, Rows, summary
from bboxqa.rules.base.rule import rule
from bboxqa.rules.facts.authorship import authorship
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.pictures import split_of

# More images than this are one finding.
_MANY = 10
# Files that share so much of their images are no splits; the first is for few images, and for
# files with the names of splits.
_SAME_SET, _MOST = 0.9, 0.5
_ROBOFLOW = ".rf."
_Key = tuple[str, object]
_OfFiles = Iterator[tuple[Document, Found]]


class _Overlap(NamedTuple):
    """What a file has in common with an earlier one."""

    document: Document
    earlier: Document
    twins: dict[int, tuple[int, str]]
    """The image of the earlier file of each image that no file before has, and how they are alike,
    such as "has the same name as"."""
    n_shared: int


def _overlaps(
    documents: Sequence[Document], keys_of: Callable[[Document], Iterator[list[_Key]]]
) -> Iterator[_Overlap]:
    """Yield what each file has in common with earlier files, by keys that images share."""
    known: dict[_Key, dict[int, int]] = {}
    for number, document in enumerate(documents):
        shared: Counter[int] = Counter()
        twins: dict[int, dict[int, tuple[int, str]]] = {}
        keys = [*keys_of(document)]
        for row, own in enumerate(keys):
            there = [(*each, key[0]) for key in own for each in known.get(key, {}).items()]
            shared.update({place for place, *_ in there})
            if there:
                place, other, how = min(there, key=lambda each: each[0])
                twins.setdefault(place, {})[row] = other, how
        for place, of_file in twins.items():
            yield _Overlap(document, documents[place], of_file, shared[place])
        for row, own in enumerate(keys):
            for key in own:
                known.setdefault(key, {}).setdefault(number, row)


def _by_content(document: Document) -> Iterator[list[_Key]]:
    """Yield for each image what it has in common with the same image in another file, and how."""
    names, disk = document.images.texts("file_name"), document.disk
    last = [name.replace("\\", "/").rpartition("/")[2] for name in names]
    is_unique = len({*last}) == len({*names})
    for row, name in enumerate(names):
        keys: list[_Key] = []
        if disk is not None and (digest := disk.contents[row].digest):
            keys += [("is the same file as", file)] if (file := disk.places[row].file) else []
            keys.append(("has the same bytes as", digest))
        elif name:
            size = tuple(document.image_size[row].tolist())
            keys.append(("has the same name as", name))
            if is_unique and not np.isnan(size).any():
                keys.append(("has the same name and size as", (last[row], size)))
        yield keys


def _by_original(document: Document) -> Iterator[list[_Key]]:
    """Yield for each image the last part of its name before Roboflow's hash, if it has one."""
    for name in document.images.texts("file_name"):
        stem = name.rpartition("/")[2].partition(_ROBOFLOW)[0] if _ROBOFLOW in name else ""
        yield [("has the original name of", stem)] if stem else []


@rule(
    "M008 warning: image in several files",
    breaks="If the files are splits, the model is tested on images that it was trained on.",
    explanation="""An image is also in an earlier file: with --images by content, otherwise by name,
        or by the last part of the name and the size. It is an info finding if the files are by
        several annotators. In the example, the earlier file has a.jpg.""",
    bad={"images": [{"file_name": "a.jpg"}]},
    good={"images": [{"file_name": "b.jpg"}]},
)
def _shared_images(documents: Sequence[Document], _settings: ValidateSettings) -> _OfFiles:
    for each in _overlaps(documents, _by_content):
        files = each.earlier, each.document
        splits, people = (
            [{split_of(Path(file.name))} - {""} for file in files],
            [{*file.once(authorship).names} - {UNNAMED} for file in files],
        )
        are_splits, are_others = (
            all(some) and some[0].isdisjoint(some[1]) for some in (splits, people)
        )
        least = _SAME_SET if each.n_shared <= _MANY or are_splits else _MOST
        least = 0 if are_others and not are_splits else least
        is_same_set = each.n_shared >= least * max(len(file.images) for file in files)
        hint = ""
        if is_same_set and not are_others:
            hint = "; check whether they are by several annotators, or copies"
        for found in _of_twins(each, "also in", hint, is_same_set=is_same_set):
            yield each.document, found


@rule(
    "M010 warning: copy of an image in several files",
    breaks="If the files are splits, the model is tested on scenes that it was trained on.",
    explanation="""An image of an earlier file has the same name before the hash that Roboflow adds,
        like augmented copies of one image. Split by original image. In the example, the earlier
        file has a_jpg.rf.0123456789abcdef.jpg.""",
    bad={"images": [{"file_name": "a_jpg.rf.fedcba9876543210.jpg"}]},
    good={"images": [{"file_name": "b_jpg.rf.fedcba9876543210.jpg"}]},
)
def _copies(documents: Sequence[Document], _settings: ValidateSettings) -> _OfFiles:
    for each in _overlaps(documents, _by_original):
        names, others = (file.images.texts("file_name") for file in (each.document, each.earlier))
        # M008 reports images that are in both files.
        twins = {row: own for row, own in each.twins.items() if names[row] != others[own[0]]}
        for found in _of_twins(each._replace(twins=twins), "copies of images of", ""):
            yield each.document, found


def _of_twins(found: _Overlap, what: str, hint: str, *, is_same_set: bool = False) -> Checked:
    """Yield findings of images that belong together with those of an earlier file."""
    names, others = (file.images.texts("file_name") for file in (found.document, found.earlier))
    copies = "all copies of an image" if "copies" in what else "each image"
    expected = f"{copies} in one split{'' if 'copies' in what else ' only'}"

    def says(row: int) -> str:
        other, how = found.twins[row]
        name, earlier = shortened(names[row]), shortened(others[other])
        return f"image {name} {how} {earlier} in {found.earlier.name}"

    listed = [*found.twins]
    if len(listed) <= _MANY and not is_same_set:
        yield Rows(listed, says, "images", expected=expected, found=names.__getitem__, apart=True)
        return
    first = listed[0]
    yield summary(
        f"{len(listed):,} of {len(names):,} images are {what} {found.earlier.name}, such as: "
        f"{says(first)}{hint}",
        "images",
        listed,
        severity=Severity.INFO if is_same_set else None,
        pointer=pointer_to("images", first),
        found=names[first],
        expected=expected,
    )
