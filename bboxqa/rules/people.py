"""Pseudonyms in findings and in error messages, which show more of a file than is measured."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bboxqa.core.arrays import Files
from bboxqa.core.errors import BboxqaError
from bboxqa.core.pseudonyms import hider, pseudonyms_of
from bboxqa.formats.registry import document_of
from bboxqa.formats.sources import list_files, paths_in, people_in_paths
from bboxqa.model.annotations import NO_CHOICES, Choices
from bboxqa.model.findings import FoundReport
from bboxqa.rules.authorship import authorship
from bboxqa.rules.document import Document


class People:
    """The people that documents name, and after whom files are named that name nobody."""

    def __init__(self, key: Path, source: Files = ()) -> None:
        self._key = key
        # Names that the user gave stand for files, and not the names of these files.
        self._is_named = isinstance(source, Mapping)
        self._names: set[str] = {*source} if isinstance(source, Mapping) else set()
        self._unnamed: list[Path] = []
        # A file that is no key is refused before other files are read.
        pseudonyms_of(key, ())

    def noted(self, document: Document) -> Document:
        """Return a document after noting whom it names."""
        names = document.once(authorship).names
        self._names.update(names)
        if not names and not self._is_named:
            self._unnamed.append(Path(document.name))
        return document

    def pseudonyms(self) -> dict[str, str]:
        """Return the pseudonym of each name."""
        return pseudonyms_of(self._key, self._names | people_in_paths(self._unnamed))

    def hidden(self, report: FoundReport) -> FoundReport:
        """Return a report on files with pseudonyms, and without excerpts and fixes."""
        hide = hider(self.pseudonyms())
        texts = "message", "file", "pointer", "ids", "found", "expected", "examples", "key"
        findings = (
            replace(each, fix=None, edits=(), excerpt="", **_hidden(each, texts, hide))
            for each in report.findings
        )
        files = (replace(each, **_hidden(each, ("name", "unread"), hide)) for each in report.files)
        return replace(
            report, files=tuple(files), findings=tuple(findings), notes=hide(report.notes)
        )

    def hide_source(
        self, source: Files, pattern: str | None, choices: Choices
    ) -> Callable[[Any], Any]:
        """Return a function that replaces the names of the people of a source in texts."""
        paths = paths_in(source)
        unlisted: set[str] = set()
        try:
            files = list_files(paths, pattern, choices=choices)
        except (BboxqaError, OSError):
            entries = [each for path in map(Path, paths) for each in path.rglob("*")]
            unlisted, files = people_in_paths(entries), []
        for file in files:
            with suppress(BboxqaError, OSError):
                document = document_of(file, choices)
                if document is not None:
                    self.noted(Document(document))
        if not self._is_named:
            self._unnamed = files
        return hider(dict.fromkeys(unlisted, "FILE") | self.pseudonyms())


def _hidden(record: Any, names: Iterable[str], hide: Callable[[Any], Any]) -> dict[str, Any]:
    """Return fields of a record with pseudonyms."""
    return {name: hide(getattr(record, name)) for name in names}


def people_of(documents: Iterable[Document], key: Path | None) -> dict[str, str]:
    """Return the pseudonyms of the people in documents; none without a key."""
    if key is None:
        return {}
    people = People(key)
    for each in documents:
        people.noted(each)
    return people.pseudonyms()


@contextmanager
def names_hidden(
    key: Path | None, source: Files = (), pattern: str | None = None, choices: Choices = NO_CHOICES
) -> Iterator[People | None]:
    """Replace names in errors by pseudonyms, if there is a key; yield the people then.

    `source` are the files that are read: whom they name is found out when an error is raised.
    """
    if key is None:
        yield None
        return
    people = People(key, source)
    try:
        yield people
    except BboxqaError as error:
        error.change_texts(people.hide_source(source, pattern, choices))
        raise
