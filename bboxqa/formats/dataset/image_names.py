"""The names by which images of several files are joined."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from unicodedata import normalize

from msgspec.structs import replace

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import clean, count, one_line
from bboxqa.formats.records import AnnotationFile, Image
from bboxqa.model.settings import JoinBy
from bboxqa.model.table import id_as_name

_SHOWN = 3
# Roboflow writes photo.jpg as photo_jpg.rf.0123456789abcdef0123456789abcdef.jpg.
_ROBOFLOW = re.compile(r"(?:_(?:jpe?g|png|bmp|tiff?|webp))?\.rf\.[0-9A-Za-z]{8,}\Z", re.IGNORECASE)
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}\Z")


def image_label(image: Image) -> str:
    """Return the name of an image: its file name, or its id if it has no file name."""
    return clean(image.file_name or id_as_name(image.id))


def join_name(file_name: str, by: JoinBy) -> str:
    r"""Return the name by which an image is joined.

    Examples
    --------
    >>> join_name("train/a_jpg.rf.0123456789abcdef.jpg", "name")
    'a_jpg.rf.0123456789abcdef.jpg'
    >>> join_name("train/a_jpg.rf.0123456789abcdef.jpg", "stem"), join_name("b\\a.PNG", "stem")
    ('a', 'a')
    """
    if by in ("path", "none"):
        return file_name
    name = re.split(r"[/\\]", file_name)[-1]
    return name if by == "name" else _ROBOFLOW.sub("", _SUFFIX.sub("", name))


def with_join_names(
    files: Sequence[AnnotationFile], by: JoinBy, people: Sequence[str]
) -> list[AnnotationFile]:
    """Return files whose images are named by the names that join them.

    With "none", names begin with those of `people`, by file, so that no image is in two files.

    Raises DatasetError, with the first examples, if two images of a file would get the same name.
    """
    names = names_of_images(files)
    if by == "none":
        return [
            _renamed(file, {name: f"{who}/{name}" for name in own})
            for file, own, who in zip(files, names, people, strict=False)
        ]
    _refuse_numbered(files)
    if by == "path":
        return _with_one_spelling(files)
    new = [{name: join_name(name, by) for name in own} for own in names]
    problems = [
        f"{file.source.name}: images {one_line(first)!r} and {one_line(name)!r} have one {by}, "
        f"{one_line(of_file[name])!r}"
        for file, of_file in zip(files, new, strict=True)
        for first, name in _alike(file, of_file)
    ]
    if problems:
        other = "try --join name, or --join path." if by == "stem" else "use --join path."
        advice = f"Images cannot be joined by {by}; {other}"
        raise DatasetError(problems[:_SHOWN], advice, total=len(problems))
    return _with_one_spelling([_renamed(*each) for each in zip(files, new, strict=True)])


def _alike(file: AnnotationFile, new: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each name of an image, with the first that gets the same new name."""
    seen: dict[str, str] = {}
    for name in (image.file_name for image in file.images if image.file_name):
        first = seen.setdefault(new[name], name)
        if first != name:
            yield first, name


def refuse_equal_names(files: Sequence[AnnotationFile]) -> None:
    """Refuse files that name nobody and have images of equal names, which may be others."""
    seen: dict[str, str] = {}
    for file, names in zip(files, names_of_images(files), strict=True):
        for name in sorted(names):
            other = seen.setdefault(name, file.source.name)
            if other != file.source.name:
                problem = (
                    f"{one_line(other)} and {one_line(file.source.name)}: both have an image "
                    f"{one_line(name)!r}, and nobody is named in the files"
                )
                raise DatasetError(
                    [problem],
                    "If it is one image: --join name\n"
                    "If these are different images, keep them apart as FILE/IMAGE: --join none\n"
                    "If each file is by another person: --attribution files",
                )


def _with_one_spelling(files: Sequence[AnnotationFile]) -> list[AnnotationFile]:
    """Return files with one spelling of letters with marks, that of the first file with a name.

    macOS decomposes them in names of files (Unicode form NFD), which others compose (NFC). A name
    of which a file has both forms stays as it is: these may be two images.
    """
    if len(files) == 1:
        return list(files)
    forms = [
        {name: normalize("NFC", name) for name in names if not name.isascii()}
        for names in names_of_images(files)
    ]
    doubled = {form for each in forms for form, n in Counter(each.values()).items() if n > 1}
    spellings: dict[str, str] = {}
    found = []
    for file, of_name in zip(files, forms, strict=True):
        joined = {name: form for name, form in of_name.items() if form not in doubled}
        found.append(
            _renamed(
                file, {name: spellings.setdefault(form, name) for name, form in joined.items()}
            )
        )
    return found


def _renamed(file: AnnotationFile, new: Mapping[str, str]) -> AnnotationFile:
    if all(name == other for name, other in new.items()):
        return file
    images = [
        replace(image, file_name=new.get(image.file_name, image.file_name))
        if image.file_name else image
        for image in file.images
    ]  # fmt: skip
    return replace(file, images=images)


def _refuse_numbered(files: Sequence[AnnotationFile]) -> None:
    """Refuse files in which a task of one number, by which images are named, has other data."""
    seen: dict[str, tuple[str, str]] = {}
    for file in files:
        for name, data in file.numbered_images.items():
            other, before = seen.setdefault(name, (file.source.name, data))
            if data != before:
                problem = f"{other} and {file.source.name}: image {one_line(name)!r} is named by "
                raise DatasetError(
                    [f"{problem}the number of its task, whose data differ in the two files"],
                    "Say which key of the data has the image: --columns image=KEY",
                )


def names_of_images(files: Sequence[AnnotationFile]) -> list[set[str]]:
    """Return the file names of the images of each file."""
    return [{image.file_name for image in file.images if image.file_name} for file in files]


def join_advice(names: Sequence[set[str]]) -> str:
    """Return which option would join most images, with examples; "" if none would join more.

    Examples
    --------
    >>> join_advice([{"a.jpg", "b.jpg"}, {"train/a.jpg"}])
    "--join name would join 1 more image, such as 'a.jpg' = 'train/a.jpg'"
    """
    best, most = "", 0
    ways: tuple[JoinBy, ...] = ("name", "stem")
    for by in ways:
        found: dict[str, dict[str, None]] = {}
        n_names = 0
        for each in names:
            own = {join_name(name, by): name for name in sorted(each)}
            n_names += len(own)
            for key, name in sorted(own.items()):
                found.setdefault(key, {})[name] = None
        # Two images of one file must not get one name.
        pairs = [[*each][:2] for each in found.values() if len(each) > 1]
        if len(pairs) > most and n_names == sum(map(len, names)):
            shown = (f"{one_line(name)!r} = {one_line(other)!r}" for name, other in pairs[:_SHOWN])
            more = count(len(pairs), "more image")
            best, most = f"--join {by} would join {more}, such as {', '.join(shown)}", len(pairs)
    return best
