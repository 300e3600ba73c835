"""The beginning of a file, from which formats are told."""

from pathlib import Path

HEAD = 1 << 16
"""Bytes that formats look at to recognise a file."""
ZIP, GZIP = b"PK\x03\x04", b"\x1f\x8b"
"""The first bytes of archives."""


def head_of(path: Path) -> bytes:
    """Return the first 64 KiB of a file; nothing where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError:
        return b""


def is_archive(head: bytes) -> bool:
    """Return whether a file begins as a zip or gzip archive."""
    return head.startswith((ZIP, GZIP))
