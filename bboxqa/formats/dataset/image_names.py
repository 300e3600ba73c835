"""The names by which images of several files are joined, and images without annotations."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, islice
from unicodedata import normalize

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.text import count, one_line
from bboxqa.formats.records import AnnotationFile
from bboxqa.model.settings import JoinBy

_SHOWN = 3
# Roboflow writes photo.jpg as photo_jpg.rf.0123456789abcdef0123456789abcdef.jpg.
_ROBOFLOW = re.compile(r"(?:_(?:jpe?g|png|bmp|tiff?|webp))?\.rf\.[0-9A-Za-z]{8,}\Z", re.IGNORECASE)
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}\Z")


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
    if by == "none":
        return [
            _renamed(file, {name: f"{who}/{name}" for name in names})
            for file, names, who in zip(files, names_of_images(files), people, strict=False)
        ]
    _refuse_numbered(files)
    if by == "path":
        return _with_one_spelling(files)
    problems = [problem for file in files for problem in _ambiguous(file, by)]
    if problems:
        raise DatasetError(
            problems[:_SHOWN],
            f"Images cannot be joined by {by}; "
            + ("try --join name, or --join path." if by == "stem" else "use --join path."),
            total=len(problems),
        )
    renamed = [
        _renamed(file, {name: join_name(name, by) for name in names})
        for file, names in zip(files, names_of_images(files), strict=True)
    ]
    return _with_one_spelling(renamed)


def refuse_equal_names(files: Sequence[AnnotationFile]) -> None:
    """Refuse files that name nobody and have images of equal names, which may be others.

    Raises DatasetError with what says how to take them.
    """
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
        joined = ((name, form) for name, form in of_name.items() if form not in doubled)
        new = {name: spellings.setdefault(form, name) for name, form in joined}
        is_known = all(name == spelling for name, spelling in new.items())
        found.append(file if is_known else _renamed(file, new))
    return found


def _renamed(file: AnnotationFile, new: Mapping[str, str]) -> AnnotationFile:
    images = [
        msgspec.structs.replace(image, file_name=new.get(image.file_name, image.file_name))
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


def unjoined_advice(files: Sequence[AnnotationFile]) -> str:
    """Return how more images would be joined; "" if they would by nothing that is known."""
    names = names_of_images(files)
    return "; ".join(filter(None, (join_advice(names), case_remark(names))))


def _ambiguous(file: AnnotationFile, by: JoinBy) -> list[str]:
    """Return a problem for each image whose name another image of the file already has."""
    seen: dict[str, str] = {}
    problems = []
    for image in file.images:
        if not image.file_name:
            continue
        name = join_name(image.file_name, by)
        other = seen.setdefault(name, image.file_name)
        if other != image.file_name:
            problems.append(
                f"{file.source.name}: images {one_line(other)!r} and "
                f"{one_line(image.file_name)!r} have one {by}, {one_line(name)!r}"
            )
    return problems


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
        found = [{join_name(name, by): name for name in sorted(each)} for each in names]
        n_more = _n_joined(found)
        # Two images of one file must not get one name.
        if n_more > most and [*map(len, found)] == [*map(len, names)]:
            examples = ", ".join(_examples(found))
            best = f"--join {by} would join {count(n_more, 'more image')}, such as {examples}"
            most = n_more
    return best


def case_remark(names: Sequence[set[str]]) -> str:
    r"""Return how many names differ between files only in upper and lower case; "" if none do.

    Examples
    --------
    >>> print(case_remark([{"a.jpg"}, {"A.jpg"}]).replace(", ", ",\n"))
    1 image name differs only in upper and lower case,
    such as 'a.jpg' = 'A.jpg': rename them in one of the files
    >>> case_remark([{"a.jpg"}, {"a.jpg", "A.jpg"}])
    ''
    """
    found = [{name.lower(): name for name in sorted(each)} for each in names]
    n_more = _n_joined(found)
    if not n_more or sum(map(len, found)) < sum(map(len, names)):
        return ""
    differ = f"{count(n_more, 'image name')} {'differs' if n_more == 1 else 'differ'}"
    how = f"only in upper and lower case, such as {_examples(found)[0]}"
    return f"{differ} {how}: rename them in one of the files"


def _n_joined(found: Sequence[dict[str, str]]) -> int:
    """Return how many images files name differently; `found` are names by what joins them."""
    keys: set[str] = set().union(*found)
    return sum(len({each[key] for each in found if key in each}) > 1 for key in keys)


def _examples(found: Sequence[dict[str, str]]) -> list[str]:
    """Return the first images that two files name differently."""
    pairs = (
        f"{one_line(left[key])!r} = {one_line(right[key])!r}"
        for left, right in combinations(found, 2)
        for key in sorted(left.keys() & right.keys())
        if left[key] != right[key]
    )
    return [*islice(pairs, _SHOWN)]
