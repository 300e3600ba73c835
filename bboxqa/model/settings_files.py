"""Settings in TOML files of the user, of a project, and of the package."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import nearest
from bboxqa.model.settings import ValidateSettings, settings_from, validate_settings_from

READING_KEYS = (
    "image_size", "missing_txt", "voc_base", "columns", "box_format", "rotated", "from_format",
    "mask",
)  # fmt: skip
"""The keys of the table ``[reading]``: those of `bboxqa.reading`."""
STAGES = ("consensus", "audit")
"""The keys of what `bboxqa batch` makes of a project besides measuring it: true or false."""
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


class SettingsFile(NamedTuple):
    """The settings in a TOML file."""

    agree: dict[str, Any]
    validate: dict[str, Any]
    """Of its table ``[validate]``."""
    reading: dict[str, Any]
    """Of its table ``[reading]``; `bboxqa.formats.choices.choices_from` checks the values."""
    stages: dict[str, bool]
    """By key, one of `STAGES`."""


def read_settings_file(name: str) -> SettingsFile:
    """Return the settings in a TOML file.

    `name` is a path, or the name of bundled settings such as "coco-bbox". Raises ConfigError if the
    file does not exist or is not TOML, or if a setting is wrong.
    """
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
    validate = _table(values, "validate", str(path))
    validate_settings_from(validate, str(path))
    reading = _table(values, "reading", str(path))
    for key in reading.keys() - {*READING_KEYS}:
        hint = nearest(key, READING_KEYS) or f"; expected one of {', '.join(READING_KEYS)}"
        raise ConfigError(f"{path}, [reading]: unknown setting {key!r}{hint}")
    stages = {key: values[key] for key in STAGES if key in values}
    for key, value in stages.items():
        if not isinstance(value, bool):
            raise ConfigError(f"{path}: {key} is {value!r}; expected true or false")
    others = ("validate", "reading", *STAGES)
    values = {key: value for key, value in values.items() if key not in others}
    tables = {"validate": ValidateSettings.__struct_fields__, "reading": READING_KEYS}
    for key in values:
        for table, keys in tables.items():
            if key in keys:
                raise ConfigError(f"{path}: {key} belongs into the table [{table}]")
        if key in _OPTIONS:
            raise ConfigError(f"{path}: unknown setting {key!r}; did you mean {_OPTIONS[key]!r}?")
    settings_from(values, str(path))
    return SettingsFile(values, validate, reading, stages)


def _table(values: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    table = values.get(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: {name} is {table!r}; expected a table of settings")
    return table


def project_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of `validate` in the nearest pyproject.toml of a folder or its parents.

    They are in the table ``[tool.bboxqa.validate]``; empty where there is none. Raises ConfigError
    if the file is not TOML, or if a setting is wrong.
    """
    for above in (folder, *folder.parents):
        path = above / "pyproject.toml"
        if path.is_file():
            tool = read_toml(path).get("tool", {})
            where = f"{path}, [tool.bboxqa.validate]"
            table = _table(tool.get("bboxqa", {}), "validate", where)
            validate_settings_from(table, where)
            return table
    return {}


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file, or raise ConfigError."""
    import tomllib

    try:
        with path.open("rb") as file:
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
