"""Digests of what the result of a project depends on."""

from contextlib import suppress
from hashlib import blake2b

import msgspec

from bboxqa.batch.projects.discovery import Project
from bboxqa.batch.projects.store import Stored, _wanted
from bboxqa.batch.rows import Settings, settings_of
from bboxqa.core.version import __version__

__all__ = ["local_key", "result_key"]


def result_key(project: Project, settings: Settings) -> str:
    """Return what a result depends on, as a digest; see `local_key`.

    Of files in a store it has what the store tells of them, so that nothing is fetched for it.
    """
    if not isinstance(project, Stored):
        return local_key(project, settings)
    wanted = _wanted(project, images=settings.images)
    value = [
        __version__, settings.agree, settings.validate, settings.images, project.url,
        [
            (content.name, content.size, " ".join(f"{key}={text}" for key, text in content.stamps))
            for content in wanted
        ],
    ]  # fmt: skip
    return blake2b(msgspec.json.encode(value), digest_size=16).hexdigest()


_BLOCK = 1 << 20


def local_key(project: Project, settings: Settings) -> str:
    """Return what a result depends on, as a digest: inputs, settings and version.

    Raises
    ------
    OSError
        If a file cannot be read.
    """
    agree, validate = settings_of(project, settings)
    digest = blake2b(digest_size=16)

    def add(part: bytes) -> None:
        digest.update(len(part).to_bytes(8, "big") + part)

    add(__version__.encode())
    add(msgspec.json.encode([agree, validate, settings.images]))
    for file in project.files:
        add(file.relative_to(project.folder).as_posix().encode("utf-8", "surrogateescape"))
        content = blake2b(digest_size=16)
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                content.update(block)
        add(content.digest())
    if settings.images and project.images is not None:
        for image in sorted(project.images.rglob("*")):
            add(image.relative_to(project.images).as_posix().encode("utf-8", "surrogateescape"))
            with suppress(OSError):
                # A link that leads nowhere is a finding, not an end.
                status = image.stat()
                add(f"{status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()
