"""M: names, sizes and contents of image files, and images in several files."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from bboxqa.core.arrays import BoolArray
from bboxqa.core.file_names import is_foreign, normalised_name
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.core.text import count
from bboxqa.formats.records import UNNAMED
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base import Checked, Defect, Found, Rows, record_edit, rule, summary
from bboxqa.rules.document import Document, first_rows
from bboxqa.rules.people import authorship

if TYPE_CHECKING:
    from bboxqa.rules.pictures import ImageFolder

_BACKSLASHES, _AT = "a path with backslashes", "images/file_name"


def _one(name: str, size: tuple[int, int] = (100, 80)) -> dict[str, list[dict[str, object]]]:
    return {"images": [{"file_name": name, "width": size[0], "height": size[1]}]}


def _on_disk(document: Document, _settings: ValidateSettings) -> Checked:
    """M001, M002, M007 and M009: files that are missing, broken, not named, or in a file twice."""
    from bboxqa.rules.pictures import ImageState

    names, disk = document.images.texts("file_name"), cast("ImageFolder", document.disk)
    lost = np.isin(disk.state, (ImageState.MISSING, ImageState.OUTSIDE))
    # A file that another record has, or may mean as well, is uncertain.
    meant = {*zip(names, disk.suggestions, strict=True)}
    owners = Counter(chain((p.path for p in disk.places), *(near for _, near in meant)))
    new = {row: near[0] for row, near in enumerate(disk.suggestions)
           if len(near) == 1 == owners[near[0]]}  # fmt: skip
    has_new = np.isin(np.arange(len(names)), [*new])
    first = first_rows(each.digest or None if not each.problem else None for each in disk.contents)

    def is_lost(row: int) -> str:
        near = " or ".join(map(shortened, disk.suggestions[row]))
        hint = f"did you mean {near}?" if near else "--images can name more"
        what = "outside" if disk.state.item(row) == ImageState.OUTSIDE else "not in"
        return f"image file {shortened(names[row])} is {what} the image folders; {hint}"

    def is_broken(row: int) -> str:
        what = "is truncated" if disk.contents[row].truncated else "cannot be decoded"
        return f"image file {shortened(names[row])} {what}: {disk.contents[row].problem}"

    def is_repeated(row: int) -> str:
        is_same = disk.places[row].file == disk.places[first[row]].file
        how = "is the same file as" if is_same else "has the bytes of"
        return f"image {shortened(names[row])} {how} {shortened(names[first[row]])}"

    for where in (lost & has_new, lost & ~has_new):
        yield Rows(where, is_lost, _AT, new=new.get, code="M001")
    broken = [row for row, content in enumerate(disk.contents) if content.problem]
    yield Rows(broken, is_broken, _AT, apart=True, code="M002")
    if disk.unnamed and document.complete("images"):
        n, expected = len(disk.unnamed), "a record for each image file"
        what = f"{count(n, 'image file')} in the image folder without an image record, such as "
        what += ", ".join(map(shortened, disk.unnamed[:3]))
        at, found = pointer_to("images"), [*disk.unnamed]
        yield Defect(what, at, found=found, expected=expected, count=n, code="M007")
    yield Rows(
        [row for row, at in enumerate(first.tolist()) if at >= 0 and names[at] != names[row]],
        is_repeated, "images", "each image once", names.__getitem__, code="M009",
        mark=lambda row: " ".join(sorted((names[row], names[first[row]]))),
    )  # fmt: skip


def _sizes(document: Document, _settings: ValidateSettings) -> Checked:
    """M003 and M004: sizes that differ from the image files, or are swapped compared with these."""
    names, disk = document.images.texts("file_name"), cast("ImageFolder", document.disk)
    size, shown = document.image_size, disk.shown
    stored = np.array([each.stored for each in disk.contents]).reshape(-1, 2)
    differs = (shown[:, 0] > 0) & ~np.isnan(size).any(1) & (size != shown).any(1)
    swapped = (size == shown[:, ::-1]).all(1)

    def says(row: int) -> str:
        given, wanted = (f"{width:g} x {height:g}" for width, height in (size[row], shown[row]))
        why = ", with width and height swapped" if swapped[row] else ""
        if swapped[row] and (size[row] == stored[row]).all():
            why = ", the size before the EXIF orientation is applied"
        return f"size is {given}{why}; expected {wanted}, the size of {shortened(names[row])}"

    def edits(row: int) -> Iterator[Edit]:
        new = shown[row].tolist() if document.once(_fits)[row] else size[row].tolist()
        for key, value, old in zip(("width", "height"), new, size[row].tolist(), strict=True):
            if value != old:
                yield from record_edit("images", row, key, value=value)

    for where, code in ((differs & ~swapped, "M003"), (differs & swapped, "M004")):
        found = lambda row: size[row].tolist()  # noqa: E731
        yield Rows(where, says, "images", found=found, edits=edits, code=code)
    turned = (size == shown).all(1) & (stored != shown).any(1)
    what = "size is that after the EXIF orientation, which not all tools apply"
    mild, expected = Severity.INFO, "an image without it"
    yield Rows(turned, what, "images", expected, severity=mild, code="M003")


def _fits(document: Document) -> BoolArray:
    """Return the images whose annotations all fit into the size of the file, (I,) bool."""
    shown, columns = cast("ImageFolder", document.disk).shown, document.annotations
    extent = np.zeros(shown.shape)
    far_corner = columns.bbox[:, :2] + columns.bbox[:, 2:]
    for corner in (far_corner, document.outline_bounds[:, 2:]):
        sound = (document.image >= 0) & ~np.isnan(corner).any(1)
        np.maximum.at(extent, document.image[sound], corner[sound])
    fits = np.asarray((extent <= shown).all(axis=1), np.bool_)
    owner = document.image[columns.rles.row]
    image, size = owner[owner >= 0], columns.rles.size[owner >= 0]
    fits[image[(size[:, ::-1] != shown[image]).any(axis=1)]] = False
    return fits


def _file_names(document: Document, _settings: ValidateSettings) -> Checked:
    """M005 and M006: names that are no plain paths, and names that look like another one."""
    names, odd = document.images.texts("file_name"), dict[int, str]()
    slashed = [name.replace("\\", "/") for name in names]
    for row, name in enumerate(names):
        if is_foreign(name):
            is_url = "://" in name or name.lower().startswith("data:")
            odd[row] = "a URL" if is_url else "an absolute path"
        elif ".." in slashed[row].split("/"):
            odd[row] = 'a path with ".."'
        elif "\\" in name:
            odd[row] = _BACKSLASHES
    # Two names must not become equal.
    meant = Counter(new for _, new in {*zip(names, slashed, strict=True)})

    def new(row: int) -> str | None:
        is_safe = odd[row] == _BACKSLASHES and meant[slashed[row]] == 1
        return slashed[row] if is_safe else None

    says = lambda row: f"file name {shortened(names[row])} is {odd[row]}"  # noqa: E731
    expected = "a path below the folder of the images, with slashes"
    yield Rows([*odd], says, _AT, expected, new=new, code="M005")
    plain = [normalised_name(name) for name in names]
    other = first_rows(each or row for row, each in enumerate(plain)).tolist()

    def resembles(row: int) -> str:
        name, earlier = shortened(names[row]), shortened(names[other[row]])
        return f"file name {name} differs only in case, slashes or Unicode form from {earlier}"

    same = [row for row, earlier in enumerate(other) if names[row] != names[earlier]]
    expected, mark = "names that differ on every system", plain.__getitem__
    yield Rows(same, resembles, _AT, expected, mark=mark, code="M006")


# More images than this are one finding.
_MANY = 10
# Files that share more of their images are no splits, unless they are named so.
_MOST = 0.5
_ROBOFLOW = ".rf."
_Key = tuple[str, object]
_Twins = dict[int, tuple[int, str]]
"""By image of a file, the image of an earlier file, and how they are alike."""


def _shared(
    documents: Sequence[Document], _settings: ValidateSettings, *, are_copies: bool
) -> Iterator[tuple[Document, Found]]:
    """M008 and M010: images of earlier files, and copies of these by Roboflow."""
    known: dict[_Key, dict[int, int]] = {}
    named: list[set[str]] = []
    for number, document in enumerate(documents):
        names = document.images.texts("file_name")
        shared: Counter[int] = Counter()
        twins: dict[int, _Twins] = {}
        keys = [*_keys(document, are_copies=are_copies)]
        for row, own in enumerate(keys):
            there = [(*each, key[0]) for key in own for each in known.get(key, {}).items()]
            # M008 reports images that are in both files, beside copies or not.
            there = [at for at in there if not are_copies or names[row] not in named[at[0]]]
            shared.update({place for place, *_ in there})
            if there:
                place, other, how = min(there, key=lambda each: each[0])
                twins.setdefault(place, {})[row] = other, how
        for place, of_file in twins.items():
            twin = documents[place], of_file, shared[place]
            yield document, _of_twins(document, *twin, are_copies=are_copies)
        named.append({*names})
        for row, own in enumerate(keys):
            for key in own:
                known.setdefault(key, {}).setdefault(number, row)


def _keys(document: Document, *, are_copies: bool) -> Iterator[list[_Key]]:
    """Yield for each image what it has in common with the same image, or a copy, and how."""
    names, disk = document.images.texts("file_name"), document.disk
    last = [name.replace("\\", "/").rpartition("/")[2] for name in names]
    is_unique = len({*last}) == len({*names})
    for row, name in enumerate(names):
        keys: list[_Key] = []
        if are_copies:
            # The name before the hash that Roboflow adds.
            stem, mark, _ = name.rpartition("/")[2].partition(_ROBOFLOW)
            keys += [("has the original name of", stem)] if stem and mark else []
        elif disk is not None and (digest := disk.contents[row].digest):
            keys += [("is the same file as", file)] if (file := disk.places[row].file) else []
            keys.append(("has the same bytes as", digest))
        elif name:
            size = tuple(document.image_size[row].tolist())
            keys.append(("has the same name as", name))
            if is_unique and not np.isnan(size).any():
                keys.append(("has the same name and size as", (last[row], size)))
        yield keys


def _of_twins(
    document: Document, earlier: Document, twins: _Twins, n_shared: int, *, are_copies: bool
) -> Found:
    """Return the images that belong together with those of an earlier file."""
    from bboxqa.rules.pictures import split_of

    # Files with common images may be by several people rather than splits.
    files = earlier, document
    splits = [split_of(Path(file.name)) for file in files]
    people = [{*file.once(authorship).names} - {UNNAMED} for file in files]
    is_same_set = n_shared > _MOST * max(len(file.images) for file in files)
    is_same_set |= all(people) and people[0].isdisjoint(people[1])
    is_same_set &= not are_copies and not (all(splits) and splits[0] != splits[1])
    names, others = (file.images.texts("file_name") for file in (document, earlier))

    def says(row: int) -> str:
        other, how = twins[row]
        return f"image {shortened(names[row])} {how} {shortened(others[other])} in {earlier.name}"

    expected = "all copies of an image in one split"
    if len(twins) <= _MANY and not is_same_set:
        return Rows([*twins], says, "images", expected, names.__getitem__, apart=True)
    first = next(iter(twins))
    what = "copies of images of" if are_copies else "also in"
    what = f"{len(twins):,} of {len(names):,} images are {what} {earlier.name}, such as: "
    what += says(first)
    what += "; check whether they are by several annotators, or copies" if is_same_set else ""
    return summary(
        what, "images", [*twins], severity=Severity.INFO if is_same_set else None,
        pointer=pointer_to("images", first), found=names[first], expected=expected,
    )  # fmt: skip


_of_disk = partial(rule, scope="images")

RULES = (
    _of_disk(
        "M001 error, unsafe fix: image file missing",
        breaks="Pillow stops training with a FileNotFoundError; OpenCV returns None.",
        explanation="""No file in the image folders, or next to the COCO file in one of them, has
            that name. Nothing outside of the folders is opened. The unsafe fix writes the only name
            that differs in folder, case, slashes or Unicode form alone, if no other record may mean
            it.""",
        bad=_one("C:\\photos\\A.JPG"),
        good=_one("photos/a.jpg"),
    )(_on_disk),
    _of_disk(
        "M002 error: image file that cannot be decoded",
        breaks="Training stops in the middle of an epoch, or the lower part of the image is grey.",
        explanation="""The file is empty, truncated, not an image, or has more than a gigapixel.
            Copy or download it again. Of images above 89 megapixels, only the header is read.""",
        bad=_one("half-downloaded.jpg"),
        good=_one("whole.jpg"),
    )(_on_disk),
    _of_disk(
        "M007 info: image file without a record",
        breaks="It goes unnoticed that images are not annotated yet, or were not exported.",
        explanation="""No image record names these files of the image folder. That is right for
            other splits in the same folder; otherwise check that the export is complete.""",
        bad=_one("a.jpg"),
        good={
            "images": [{"file_name": "a.jpg"}, {"file_name": "b.jpg"}],
            "annotations": [{}, {"image_id": 2}],
        },
    )(_on_disk),
    _of_disk(
        "M009 warning: image twice in one file",
        breaks="The image weighs twice, and a random split puts one into each part.",
        explanation="""Two records with different names have image files with equal bytes, or refer
            to the same file, as in the example. Remove one record and move its annotations.""",
        bad={"images": [{"file_name": "a.jpg"}, {"file_name": "copy of a.jpg"}]},
        good=_one("a.jpg"),
    )(_on_disk),
    _of_disk(
        "M003 error, unsafe fix: size differs from the size of the image file",
        breaks="Boxes are misplaced, and masks differ in size from the image.",
        explanation="""Width and height differ from the file with its EXIF orientation applied. The
            unsafe fix writes the size of the file if all annotations of the image fit into it;
            first make sure that they were drawn on it. If they differ only without the orientation,
            it is an info finding: tools that ignore it turn the image under its boxes.""",
        bad=_one("of-640-x-480.jpg", (1280, 960)),
        good=_one("of-640-x-480.jpg", (640, 480)),
    )(_sizes),
    _of_disk(
        "M004 error, unsafe fix: width and height swapped compared with the image file",
        breaks="""Of OpenCV and Pillow, only one applies the EXIF orientation: one misplaces all
            boxes.""",
        explanation="""Width and height are swapped compared with the file. The unsafe fix swaps
            them if all annotations then fit; make sure that they were drawn upright.""",
        bad=_one("upright.jpg", (4032, 3024)),
        good=_one("upright.jpg", (3024, 4032)),
    )(_sizes),
    rule(
        "M005 warning, unsafe fix: file name is not a plain path",
        breaks="The images are found on one computer only.",
        explanation="""The file name is an absolute path, has "..", is a URL, or has backslashes.
            Write paths relative to the image folder. The unsafe fix replaces backslashes by
            slashes.""",
        bad=_one("photos\\a.jpg"),
        good=_one("photos/a..b.jpg"),
    )(_file_names),
    rule(
        "M006 warning: file names that differ only in case or Unicode form",
        breaks="On Windows and macOS both names are one file, and one image overwrites the other.",
        explanation="""Two file names differ only in case, slashes, or the Unicode form of their
            letters. Rename one of the files, and its record.""",
        bad={"images": [{"file_name": "a.jpg"}, {"file_name": "A.jpg"}]},
        good={
            "images": [{"file_name": "a.jpg"}, {"file_name": "a.jpeg"}],
            "annotations": [{}, {"image_id": 2}],
        },
        requires=("M009",),
    )(_file_names),
    rule(
        "M008 warning: image in several files",
        breaks="If the files are splits, the model is tested on images that it was trained on.",
        explanation="""An image is also in an earlier file: with --images by content, otherwise by
            name, or by the last part of the name and the size. It is an info finding if the files
            are by several annotators, or share most images and are not named as splits. In the
            example, the earlier file has a.jpg.""",
        bad={"images": [{"file_name": "a.jpg"}]},
        good={"images": [{"file_name": "b.jpg"}]},
        scope="files",
    )(partial(_shared, are_copies=False)),
    rule(
        "M010 warning: copy of an image in several files",
        breaks="If the files are splits, the model is tested on scenes that it was trained on.",
        explanation="""An image of an earlier file has the same name before the hash that Roboflow
            adds, like augmented copies of one image. Split by original image. In the example, the
            earlier file has a_jpg.rf.0123456789abcdef.jpg.""",
        bad={"images": [{"file_name": "a_jpg.rf.fedcba9876543210.jpg"}]},
        good={"images": [{"file_name": "b_jpg.rf.fedcba9876543210.jpg"}]},
        scope="files",
    )(partial(_shared, are_copies=True)),
)
