"""Settings in TOML files of the user, of a project, and of the package."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bboxqa.core.errors import ConfigError
from bboxqa.core.files import open_input
from bboxqa.core.text import nearest
from bboxqa.model.settings import ValidateSettings, settings_from, validate_settings_from

_VALIDATE = "validate"
_READING = "reading"
READING_KEYS = (
    "image_size", "missing_txt", "voc_base", "columns", "box_format", "rotated", "from_format",
)  # fmt: skip
"""The keys of the table ``[reading]``: those of `bboxqa.reading`."""
_OPTIONS = {"iou": "iou_threshold", "map": "category_map", "pattern": "filter"}
"""The keys of options with another name."""
_LARGEST = 1_000_000


def bundled_configs() -> dict[str, Path]:
    """Return the settings files that come with the package, by name."""
    package = Path(__file__).parents[1]
    # An installed package contains the folder; a checkout has it at the top level.
    for folder in (package / "configs", package.parent / "configs"):
        if folder.is_dir():
            return {path.stem: path for path in sorted(folder.glob("*.toml"))}
    return {}


def read_settings(name: str) -> dict[str, Any]:
    """Return the settings of `agree` in a TOML file, without its tables.

    `name` is a path, or the name of bundled settings such as "coco-bbox". Raises ConfigError if the
    file does not exist or is not TOML, or if a setting is wrong.
    """
    return _read(name)[0]


def read_validate_settings(name: str) -> dict[str, Any]:
    """Return the settings of `validate` in a TOML file: its table ``[validate]``.

    Parameters and errors are the same as in `read_settings`.
    """
    return _read(name)[1]


def read_reading_settings(name: str) -> dict[str, Any]:
    """Return what a TOML file says of the files to read: its table ``[reading]``.

    Parameters and errors are the same as in `read_settings`. `bboxqa.formats.choices.choices_from`
    checks the values.
    """
    return _read(name)[2]


def _read(name: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    path = Path(name)
    if not path.exists() or path.is_dir():
        bundled = bundled_configs()
        if name not in bundled:
            problem = "is a folder" if path.is_dir() else "no such file"
            raise ConfigError(
                f"{name}: {problem}, and none of the settings that come with bboxqa: "
                + ", ".join(bundled)
                + nearest(name, bundled)
            )
        path = bundled[name]
    values = read_toml(path)
    table = _table(values, str(path))
    reading = _reading_table(values, str(path))
    values = {key: value for key, value in values.items() if key not in (_VALIDATE, _READING)}
    for key in values:
        _refuse_misplaced(key, str(path))
    settings_from(values, str(path))
    return values, table, reading


def _reading_table(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    table = values.get(_READING, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: reading is {table!r}; expected a table of settings")
    for key in table:
        if key not in READING_KEYS:
            hint = nearest(key, READING_KEYS) or f"; expected one of {', '.join(READING_KEYS)}"
            raise ConfigError(f"{where}, [reading]: unknown setting {key!r}{hint}")
    return table


def _refuse_misplaced(key: str, where: str) -> None:
    """Refuse a key that belongs into a table, or has the name of an option."""
    tables = ((_VALIDATE, ValidateSettings.__struct_fields__), (_READING, READING_KEYS))
    for table, keys in tables:
        if key in keys:
            raise ConfigError(f"{where}: {key} belongs into the table [{table}]")
    if key in _OPTIONS:
        raise ConfigError(f"{where}: unknown setting {key!r}; did you mean {_OPTIONS[key]!r}?")


def project_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of `validate` in the nearest pyproject.toml of a folder or its parents.

    They are in the table ``[tool.bboxqa.validate]``; empty where there is none. Raises ConfigError
    if the file is not TOML, or if a setting is wrong.
    """
    for above in (folder, *folder.parents):
        path = above / "pyproject.toml"
        if path.is_file():
            tool = read_toml(path).get("tool", {})
            return _table(tool.get("bboxqa", {}), f"{path}, [tool.bboxqa.validate]")
    return {}


def _table(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the table ``[validate]`` of settings, checked."""
    table = values.get(_VALIDATE, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: validate is {table!r}; expected a table of settings")
    validate_settings_from(table, where)
    return table


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file, or raise ConfigError."""
    try:
        with open_input(path) as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise ConfigError(f"{path}: has more than 1 MB; expected a file of settings")
        return tomllib.loads(content.decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: is not TOML: lists or tables are nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not TOML: {error}") from None
    except ValueError:
        raise ConfigError(f"{path}: is not TOML: a number has thousands of digits") from None
