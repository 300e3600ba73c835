"""Why a file cannot be opened, in the words of a message."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bboxqa.core.errors import DatasetError


@contextmanager
def named_errors(path: Path, expected: str) -> Iterator[None]:
    """Raise errors of the operating system as `DatasetError` with the name of the file.

    Parameters
    ----------
    path : Path
    expected : str
        What the file should be, for a message about a folder.
    """
    try:
        if path.is_dir():
            raise DatasetError([f"{path}: is a folder; expected {expected}"])
        yield
    except FileNotFoundError:
        raise DatasetError(
            [f"{path}: no such file"],
            f"Looked from {Path.cwd()}." if not path.is_absolute() else "",
        ) from None
    except OSError as error:
        raise DatasetError([f"{path}: cannot be read: {error.strerror}"]) from None
