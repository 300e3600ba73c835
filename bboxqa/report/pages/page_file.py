"""Pages as files."""

from pathlib import Path

from bboxqa.core.errors import OutputError
from bboxqa.core.files import write_atomically

# Of base.html.j2.
_MARK = b'<meta name="generator" content="bboxqa'
_HEAD = 4096


def check_page(path: Path, *, force: bool) -> None:
    """Refuse to write a page where another file is.

    A page that was written before is replaced. Raises OutputError for any other file, unless
    `force`, and where there is no such folder.
    """
    if not path.parent.is_dir():
        raise OutputError(f"{path}: cannot be written: there is no folder {path.parent}")
    if force or not path.is_file():
        return
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None
    if _MARK not in head:
        raise OutputError(f"{path}: is no page of bboxqa; name another file, or give --force")


def write_page(path: Path, page: str) -> None:
    """Write a page completely or not at all.

    Raises OutputError if it cannot be written.
    """
    write_atomically(path, page.encode("utf-8", "backslashreplace"))
