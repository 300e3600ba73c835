"""M: defects of file names of images that show without the files."""

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import unquote

import numpy as np

from bboxqa.core.arrays import IndexArray
from bboxqa.core.file_names import is_foreign, normalised_name
from bboxqa.core.json_values import pointer_to, shortened
from bboxqa.model.findings import Edit, Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document

_FEW = 10
_BACKSLASHES = "a path with backslashes"
_EXPECTED = "a path below the folder of the images, with slashes"


def _oddity(name: str) -> str:
    if is_foreign(name):
        is_url = "://" in name or name.lower().startswith("data:")
        return "a URL" if is_url else "an absolute path"
    if ".." in name.replace("\\", "/").split("/"):
        return 'a path with ".."'
    return _BACKSLASHES if "\\" in name else ""


def _bound_to_one_place(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M005: names that are not relative paths with forward slashes."""
    names = document.images.texts("file_name")
    odd = [_oddity(name) for name in names]
    meant = Counter(name.replace("\\", "/") for name in set(names))
    rows = np.array([row for row, what in enumerate(odd) if what], np.int64)

    def edits(row: int) -> tuple[Edit, ...]:
        slashed = names[row].replace("\\", "/")
        # Two names must not become equal.
        if odd[row] != _BACKSLASHES or meant[slashed] > 1:
            return ()
        return (Edit(pointer_to("images", row, "file_name"), "replace", slashed),)

    def describe(row: int) -> Defect:
        return record_defect(
            document,
            ("images", row, "file_name"),
            f"file name {shortened(names[row])} is {odd[row]}; expected {_EXPECTED}",
            found=names[row],
            expected=_EXPECTED,
            edits=edits(row),
        )

    def summary(some: IndexArray, share: str) -> str:
        kind = Counter(odd[row] for row in some.tolist()).most_common(1)[0][0]
        return (
            f"file names of {share} are not plain paths, mostly {kind}, such as "
            f"{shortened(names[some[0]])}; expected paths below the folder of the images"
        )

    yield from hits(rows, describe, name="images", summary=summary)


def _escaped(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M012: names with URL escapes."""
    # If files are searched, M001 reports missing files and suggests names.
    if document.disk is not None:
        return
    names = document.images.texts("file_name")
    plain = [name if is_foreign(name) else unquote(name) for name in names]
    taken = Counter(plain)
    rows = [
        row for row, (name, text) in enumerate(zip(names, plain, strict=True))
        if text != name and text.isprintable() and "\ufffd" not in text
    ]  # fmt: skip

    def describe(row: int) -> Defect:
        edit = Edit(pointer_to("images", row, "file_name"), "replace", plain[row])
        return record_defect(
            document,
            ("images", row, "file_name"),
            f"file name {shortened(names[row])} has escapes of a URL; expected "
            f"{shortened(plain[row])}, unless the file has that name",
            found=names[row],
            expected=plain[row],
            edits=(edit,) if taken[plain[row]] == 1 else (),
        )

    yield from hits(np.array(rows, np.int64), describe, name="images", key="file_name")


def _nearly_same(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """M006: names that differ from another name only in case, slashes or Unicode form."""
    names = document.images.texts("file_name")
    first: dict[str, int] = {}
    other = [first.setdefault(_plain(name), row) if name else row for row, name in enumerate(names)]
    rows = [row for row, earlier in enumerate(other) if names[row] != names[earlier]]

    def describe(row: int) -> Defect:
        name, earlier = names[row], names[other[row]]
        how = "differs only in case, slashes or Unicode form from"
        expected = "names that differ on every system"
        if PurePosixPath(name) == PurePosixPath(earlier):
            how, expected = "is the same path as", "each image once"
        return record_defect(
            document,
            ("images", row, "file_name"),
            f"file name {shortened(name)} {how} {shortened(earlier)}; expected {expected}",
            found=names[row],
            expected="a name that differs from all others on every system",
            key=_plain(names[row]),
        )

    yield from hits(np.array(rows, np.int64), describe, name="images")


def _plain(name: str) -> str:
    plain = normalised_name(name)
    return str(PurePosixPath(plain)) if "//" in plain or "./" in plain else plain


RULES = (
    Rule(
        code="M005",
        title="file name is not a plain path",
        severity=Severity.WARNING,
        breaks="""The images are found on one computer only: absolute paths do not exist elsewhere,
            and on Linux and macOS a backslash is part of the name.""",
        explanation="""The file name is an absolute path, has "..", is a URL, or has backslashes.
            Write paths relative to the image folder, with slashes. The unsafe fix replaces
            backslashes by slashes; correct other names yourself, or by the fix of M001. If most
            names have the problem, they are one finding.""",
        bad={"images": [{"file_name": "photos\\a.jpg"}]},
        good={"images": [{"file_name": "photos/a..b.jpg"}]},
        check=_bound_to_one_place,
        fix="unsafe",
    ),
    Rule(
        code="M006",
        title="file names that differ only in case or Unicode form",
        severity=Severity.WARNING,
        scope="data set",
        breaks="""On Windows and macOS both names are one file: unpacking the images overwrites one
            with the other, and its annotations are on the wrong image.""",
        explanation="""Two file names differ only in upper and lower case, slashes, or the Unicode
            form of their letters. Rename one of the files, and its record. If they are the same
            path, such as ./a.jpg and a.jpg, the image has two records: remove one, and move its
            annotations. With --images, M009 reports such records, and M006 does not.""",
        bad={"images": [{"file_name": "a.jpg"}, {"file_name": "A.jpg"}]},
        good={
            "images": [{"file_name": "a.jpg"}, {"file_name": "a.jpeg"}],
            "annotations": [{}, {"image_id": 2}],
        },
        check=_nearly_same,
    ),
    Rule(
        code="M012",
        title="file name with escapes of a URL",
        severity=Severity.WARNING,
        breaks="No loader finds the image: the file has a blank in its name, not %20.",
        explanation="""The file name has escapes such as %20 for a blank, like the path of a URL.
            Some annotation tools take the name from the URL of the image. The unsafe fix writes the
            characters, unless another image has that name. With --images, M001 reports the names
            that no file has.""",
        bad={"images": [{"file_name": "my%20cat.jpg"}]},
        good={"images": [{"file_name": "my cat 100%.jpg"}]},
        check=_escaped,
        fix="unsafe",
    ),
)
