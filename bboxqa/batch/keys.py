"""Digests of all inputs of a project's result."""

from contextlib import suppress
from hashlib import blake2b, file_digest
from itertools import chain
from pathlib import Path

import msgspec

from bboxqa.batch.discovery import Project, files_of, is_image
from bboxqa.batch.rows import Settings, choices_of, settings_of, stages_of
from bboxqa.batch.store import Stored, contents_to_fetch
from bboxqa.core.errors import OutputError
from bboxqa.core.version import __version__
from bboxqa.model.choices import Choices, completed


def result_key(project: Project, settings: Settings) -> str:
    """Return a digest of inputs, settings and version; see `local_key`.

    For a project in a store it is computed from the listing, without fetching files.
    """
    if not isinstance(project, Stored):
        return local_key(project, settings)
    said = completed(settings.choices, settings.reading)
    contents = contents_to_fetch(project, images=settings.images)
    value = [
        __version__, settings.agree, settings.validate, settings.images, project.url,
        [
            (content.name, content.size, " ".join(f"{key}={text}" for key, text in content.stamps))
            for content in contents
        ],
        *_others(settings, said), *(name for name, is_made in settings.stages.items() if is_made),
    ]  # fmt: skip
    return blake2b(msgspec.json.encode(value), digest_size=16).hexdigest()


def local_key(project: Project, settings: Settings) -> str:
    """Return a digest of inputs, settings and version; of images, only size and time count."""
    agree, validate = settings_of(project, settings)
    said = choices_of(project, settings)
    digest = blake2b(digest_size=16)

    def add(part: bytes) -> None:
        digest.update(len(part).to_bytes(8, "big") + part)

    add(__version__.encode())
    add(msgspec.json.encode([agree, validate, settings.images, *_others(settings, said)]))
    for stage in stages_of(project, settings):
        add(stage.encode())
    for file in chain.from_iterable(map(files_of, project.files)):
        add(file.relative_to(project.folder).as_posix().encode("utf-8", "surrogateescape"))
        if is_image(file):
            add(_stamp(file))
            continue
        with file.open("rb") as stream:
            add(file_digest(stream, "blake2b").digest())
    if settings.images and project.images is not None:
        for image in sorted(project.images.rglob("*")):
            add(image.relative_to(project.images).as_posix().encode("utf-8", "surrogateescape"))
            add(_stamp(image))
    return digest.hexdigest()


def refuse_other_key(project: Project, settings: Settings, key: str) -> None:
    """Raise OutputError if a project changed since its key was computed."""
    if local_key(project, settings) != key:
        raise OutputError(f"{project.folder}: changed while it was read; run it again")


def _stamp(image: Path) -> bytes:
    """Return size and time of an image; empty for a broken link, which is a finding."""
    with suppress(OSError):
        status = image.stat()
        return f"{status.st_size} {status.st_mtime_ns}".encode()
    return b""


def _others(settings: Settings, said: Choices) -> list[str | Choices]:
    """Return further settings that affect results; empty by default, as in earlier versions."""
    chosen = [] if said == Choices() else [said]
    return [*(["raw csv"] if settings.raw_csv else []), *chosen]
