"""Pseudonyms in findings and in error messages, which show more of a file than is measured."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from bboxqa.core.errors import BboxqaError, DatasetError
from bboxqa.core.pseudonyms import pseudonyms_of, spellings, without_examples, without_names
from bboxqa.core.types import AnyPath, Files
from bboxqa.formats.dataset.pseudonyms import (
    file_without_names,
    named_after,
    people_among,
    without_entries,
)
from bboxqa.formats.registry import format_of, is_of_one_image
from bboxqa.formats.sources import list_files, paths_in
from bboxqa.model.findings import Finding, FoundReport
from bboxqa.rules.facts.authorship import authorship
from bboxqa.rules.facts.document import Document


class People:
    """The people of some files, who have pseudonyms in texts and findings.

    So have all others in the key, as a single file may be named after somebody.
    """

    def __init__(self, key: Path, names: Iterable[str] = ()) -> None:
        self._key = key
        self._names = {*names}
        # Names that the user gave stand for files, and not the names of these files.
        self._are_files_named = bool(self._names)
        self._naming: set[str] = set()
        self._of_images: set[str] = set()
        # A file that is no key is refused before other files are read.
        pseudonyms_of(key, ())

    def noted(self, document: Document) -> Document:
        """Return a document after noting whom it names, and whether it is named after its image."""
        images, file = document.images, Path(document.name)
        if len(images) == 1 and is_of_one_image(file):
            image = str(images.get(0, "file_name")).replace("\\", "/")
            if PurePosixPath(image).stem == file.stem:
                self._of_images.add(document.name)
        if names := people_among(document.once(authorship).names):
            self._names.update(names)
            self._naming.add(document.name)
        return document

    def note_files(self, files: Sequence[Path], given: Iterable[AnyPath]) -> None:
        """Note after whom those files are named that name nobody."""
        is_person = len(files) == 1 and files[0].is_dir() and files[0] not in map(Path, given)
        if self._are_files_named:
            return
        # The folders around labels of single images may be those of people.
        files = [
            *dict.fromkeys(file.parent if str(file) in self._of_images else file for file in files)
        ]
        people = named_after(files)
        found = {
            name
            for file, names in zip(files, people, strict=True)
            if str(file) not in self._naming
            for name in names
            # A file that is alone has any name, but an e-mail address is that of a person.
            if len(files) > 1 or is_person or "@" in name
        }
        self._names.update(found)

    def pseudonyms(self) -> dict[str, str]:
        """Return the pseudonym of each name, in all spellings that messages use."""
        known = pseudonyms_of(self._key, self._names)
        return spellings(known)

    def hidden(
        self, report: FoundReport, read: Sequence[Path], given_paths: Iterable[AnyPath]
    ) -> FoundReport:
        """Return a report on files with pseudonyms, and without excerpts and fixes."""
        self.note_files(read, given_paths)
        given = self.pseudonyms()
        files = (
            replace(
                each,
                name=file_without_names(each.name, given),
                unread=without_names(each.unread, given),
            )
            for each in report.files
        )
        return replace(
            report,
            files=tuple(files),
            findings=tuple(_hidden(each, given) for each in report.findings),
            notes=tuple(without_examples(without_names(report.notes, given))),
        )


def _hidden(finding: Finding, given: Mapping[str, str]) -> Finding:
    """Return a finding with pseudonyms."""

    def hide(value: Any) -> Any:
        return without_names(value, given)

    return replace(
        finding,
        message=hide(finding.message),
        file=file_without_names(finding.file, given),
        pointer=hide(finding.pointer),
        ids=hide(finding.ids),
        found=hide(finding.found),
        expected=hide(finding.expected),
        fix=None,
        edits=(),
        examples=tuple(hide(finding.examples)),
        key=hide(finding.key),
        excerpt="",
    )


def people_of(
    documents: Iterable[Document], key: Path | None, given: Sequence[AnyPath]
) -> dict[str, str]:
    """Return the pseudonyms of the people in documents of the `given` files; none without a key."""
    if key is None:
        return {}
    people = People(key)
    files = [Path(people.noted(each).name) for each in documents]
    people.note_files(files, given)
    return people.pseudonyms()


@contextmanager
def names_hidden(
    key: Path | None, source: Files = (), pattern: str | None = None
) -> Iterator[People | None]:
    """Replace names in errors by pseudonyms, if there is a key; yield the people then.

    `source` are the files that are read: whom they name is found out when an error is raised.
    """
    if key is None:
        yield None
        return
    people = People(key, source if isinstance(source, Mapping) else ())
    try:
        yield people
    except BboxqaError as error:
        hidden = _of_source(people, source, pattern)
        error.change_texts(hidden)
        if isinstance(error, DatasetError):
            error.change_command(partial(_typed, key=key, hidden=hidden))
        raise


def _typed(command: str, key: Path, hidden: Callable[[str], str]) -> str:
    """Return a command with the option of the key, and words in place of paths with names."""
    words = shlex.split(command)
    typed = [word if hidden(word) == word else "FILE" for word in words]
    if not {"--fix", "--pseudonyms"} & {*words}:
        typed += ["--pseudonyms", "KEY" if hidden(str(key)) != str(key) else str(key)]
    return shlex.join(typed)


def _of_source(people: People, source: Files, pattern: str | None) -> Callable[[str], str]:
    """Return a function that replaces the names of the people of a source in a text."""
    paths = paths_in(source)
    not_listed = [path for path in map(Path, paths) if path.is_dir()]
    with suppress(BboxqaError, OSError):
        files = list_files(paths, pattern)
        not_listed = []
        for document in _readable(files):
            people.noted(document)
        people.note_files(files, paths)
    given = people.pseudonyms()
    return lambda text: without_entries(without_names(text, given), not_listed)


def _readable(files: Iterable[Path]) -> Iterator[Document]:
    """Yield the documents of those files that can be read."""
    for file in files:
        with suppress(BboxqaError, OSError):
            read = format_of(file).document
            if read is not None:
                yield Document(read(file))
