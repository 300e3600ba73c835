"""Settings of `agree` and `validate`, typed and checked, and their TOML files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict, TypeVar, get_args

import msgspec

from bboxqa.core.errors import ConfigError, naming
from bboxqa.core.text import nearest, unknown_name

MIN_BOOTSTRAP, MAX_BOOTSTRAP = 40, 100_000
MAX_THRESHOLDS = 1000
"""Limits of `bootstrap`: fewer draws have no 2.5 % quantiles, more would take too much memory."""

_RANGES = (
    ("overshoot_px", 0, 1e6), ("bounds_px", 0, 1e6), ("min_side_px", 0, 1e6),
    ("max_aspect_ratio", 1, 1e6), ("max_image_share", 0, 1), ("area_tolerance", 0, 1),
    ("duplicate_iou", 0.5, 1), ("large_file_mb", 0, 1e9), ("min_alpha", -1, 1), ("min_f1", 0, 1),
)  # fmt: skip

Attribution = Literal["annotator-key", "image-records", "files"]
EmptyImages = Literal["agree", "unit", "skip"]
FailOn = Literal["error", "warning", "info"]
Missing = Literal["category", "ignore"]
JoinBy = Literal["path", "name", "stem", "none"]
Asked = Literal["authors", "all"]


class AgreeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that decides what `agree` computes.

    The fields are the keywords of `bboxqa.agree`, with all thresholds in `iou_threshold`, and the
    keywords that decide how files are read.
    """

    similarity: str = "bbox"
    iou_threshold: tuple[float, ...] = (0.5,)
    matcher: str = "auto"
    category_lenient: bool = False
    missing: Missing = "category"
    empty_images: EmptyImages = "agree"
    all_touched: bool = False
    bootstrap: int = 1000
    seed: int = 0
    min_alpha: float | None = None
    min_f1: float | None = None
    annotator_key: str | None = None
    """The key of annotations that names the annotator; ``"a.b"`` means b inside of a."""
    attribution: Attribution | None = None
    """How to find the annotator of each annotation: "annotator-key", "image-records" or "files"; by
    default the first way that finds two annotators."""
    filter: str | None = None
    """A glob that the names of files in folders, or in an archive of several, have to match."""
    join: JoinBy = "path"
    """Which part of the file name identifies an image across files: the whole path, the name
    without folders, the name without suffix and Roboflow's marker, or none, with which images of
    different files are different ones."""
    category_map: dict[str, str] = {}
    """New names of categories, by the names in the files; empty for those that are left out."""
    asked: Asked = "authors"
    """Who was asked about an image that does not list its annotators: those who annotated it, or
    all annotators."""
    session_key: str | None = None
    """The key of annotations or image records that names the session, where annotators annotated an
    image in several sessions; "file" where each file is a session. The first session of each is the
    data set, all of them are its `repeats`."""
    time_key: str | None = None
    """The key of annotations that holds the time at which they were made, in ISO 8601, or in
    seconds or milliseconds since 1970."""
    tracks: bool = False
    """Whether to read which annotations of a video show one object."""
    checks: bool = True
    """Whether to refuse files in which `validate` finds boxes in another layout, or many duplicate
    annotations."""
    sigmas: tuple[float, ...] | Literal["estimated"] = ()
    """The OKS sigmas of key points: one for all, one for each, or "estimated" from the annotators;
    if empty, COCO's."""


class AgreeKeywords(TypedDict, total=False):
    """The keywords of `bboxqa.agree` that are settings."""

    similarity: str
    iou_threshold: float | Sequence[float]
    matcher: str
    category_lenient: bool
    missing: Missing
    empty_images: EmptyImages
    all_touched: bool
    bootstrap: int
    seed: int
    min_alpha: float | None
    min_f1: float | None
    checks: bool
    sigmas: float | Sequence[float] | Literal["estimated"]


class ValidateSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that decides what `validate` reports: its keywords, beginning with `select`."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: dict[str, tuple[str, ...]] = {}
    fail_on: FailOn = "error"
    min_severity: FailOn = "info"
    show_consequences: bool = False
    overshoot_px: float = 1.0
    """A box that extends further beyond its image breaks B003, one that extends less far B004."""
    bounds_px: float = 2.0
    """How far a box and the bounds of its outline may differ (P007)."""
    min_side_px: float = 2.0
    """Boxes with a shorter side are small (B008)."""
    max_aspect_ratio: float = 20.0
    """Largest ratio of the longer to the shorter side (B009)."""
    max_image_share: float = 0.99
    """Largest share of the image that a box may cover (B010)."""
    area_tolerance: float = 0.05
    """Largest relative difference of an area and that of its outline (B011)."""
    duplicate_iou: float = 0.9
    """Two boxes of one annotator with at least this IoU are duplicates (D002, D003)."""
    large_file_mb: float = 500.0
    """Larger files break F007."""


class ValidateKeywords(TypedDict, total=False):
    """The keywords of `bboxqa.validate` that are settings."""

    select: Sequence[str]
    ignore: Sequence[str]
    per_file_ignores: Mapping[str, Sequence[str]]
    fail_on: FailOn
    min_severity: FailOn
    show_consequences: bool
    overshoot_px: float
    bounds_px: float
    min_side_px: float
    max_aspect_ratio: float
    max_image_share: float
    area_tolerance: float
    duplicate_iou: float
    large_file_mb: float


def settings_from(values: Mapping[str, Any]) -> AgreeSettings:
    """Return checked settings; settings that are not given keep their defaults."""
    values = {key: _plain(value) for key, value in values.items()}
    thresholds = values.get("iou_threshold")
    if isinstance(thresholds, bool):
        raise ConfigError(f"is {thresholds}; expected a number or numbers", "iou_threshold")
    if isinstance(thresholds, int | float):
        values["iou_threshold"] = (thresholds,)
    if type(values.get("sigmas")) in (int, float):
        values["sigmas"] = (values["sigmas"],)
    settings = _converted(values, AgreeSettings)
    numbers, sigmas, bootstrap = settings.iou_threshold, settings.sigmas, settings.bootstrap
    wrong = [each for each in sigmas if not 0 < each < 10] if sigmas != "estimated" else []
    number = f"{'has' if len(sigmas) > 1 else 'is'} {wrong[0]:g}" if wrong else ""
    is_counted = settings.empty_images == "unit" and settings.missing == "ignore"
    for is_wrong, name, problem in (
        (not numbers, "iou_threshold", "is empty; expected at least one number"),
        (len(numbers) > MAX_THRESHOLDS, "iou_threshold",
         f"has {len(numbers):,} numbers; expected at most {MAX_THRESHOLDS:,}"),
        (len(set(numbers)) < len(numbers), "iou_threshold", "names a number twice"),
        (bootstrap and not MIN_BOOTSTRAP <= bootstrap <= MAX_BOOTSTRAP, "bootstrap",
         f"is {bootstrap}; expected 0, or {MIN_BOOTSTRAP} to {MAX_BOOTSTRAP:,}"),
        *((getattr(settings, name) == "", name, "is empty; expected a key of annotations")
          for name in ("annotator_key", "session_key", "time_key")),
        (settings.session_key and settings.session_key == settings.annotator_key, "session_key",
         "is the key of the annotator as well"),
        (wrong, "sigmas", f"{number}; expected numbers above 0 and below 10, such as 0.05"),
        (settings.seed < 0, "seed", f"is {settings.seed}; expected 0 or more"),
        (is_counted, "empty_images", ("is 'unit', which counts agreement on missing annotations, "
         "but missing 'ignore' leaves these out; expected missing 'category' or empty_images "
         "'agree'")),
    ):  # fmt: skip
        if is_wrong:
            raise ConfigError(problem, name)
    return settings


def validate_settings_from(values: Mapping[str, Any]) -> ValidateSettings:
    """Return checked settings of `validate`; settings that are not given keep their defaults."""
    values = {key: _plain(value) for key, value in values.items()}
    settings = _converted(values, ValidateSettings)
    order = get_args(FailOn)
    if order.index(settings.min_severity) < order.index(settings.fail_on):
        raise ConfigError(
            f"{settings.min_severity!r} hides findings that --fail-on {settings.fail_on!r} fails "
            f"on; expected {settings.fail_on!r} or a lower one",
            "min_severity",
        )
    return settings


_Settings = TypeVar("_Settings", AgreeSettings, ValidateSettings)


def _converted(values: Mapping[str, Any], kind: type[_Settings]) -> _Settings:
    """Convert settings to their types, or raise ConfigError with the name of the wrong setting."""
    for key in values:
        if key not in kind.__struct_fields__:
            known = kind.__struct_fields__
            hint = nearest(key, known) or f"; expected one of {', '.join(known)}"
            raise ConfigError(f"unknown setting {key!r}{hint}")
    try:
        settings = msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$.")
        key = place.rstrip("`") or "settings"
        name, _, index = key.rstrip("]").partition("[")
        found = values.get(name)
        if index.isdigit() and isinstance(found, list | tuple):
            found = found[int(index)]
        choices = _choices(kind.__annotations__.get(key))
        if choices:
            raise ConfigError(unknown_name(found, choices), name) from None
        raise ConfigError(f"is {found!r}: {message[0].lower()}{message[1:]}", key) from None
    for name, low, high in _RANGES:
        number = getattr(settings, name, None)
        if number is not None and not low <= number <= high:
            raise ConfigError(f"is {number:g}; expected {low:g} to {high:g}", name)
    return settings


def _plain(value: Any) -> Any:
    """Convert numpy's numbers and arrays to plain Python, without importing numpy."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _choices(annotation: Any) -> list[str]:
    """Return the texts that a `Literal`, or a `Literal` in a union, allows; else nothing."""
    parts = get_args(annotation)
    inner = [choice for part in parts for choice in _choices(part)]
    return [part for part in parts if isinstance(part, str)] + inner


READING_KEYS = (
    "image_size", "missing_txt", "voc_base", "columns", "box_format", "rotated", "from_format",
    "mask",
)  # fmt: skip
"""The keys of the table ``[reading]``: those of `bboxqa.reading`."""
STAGES = ("consensus", "audit")
"""The keys of what `bboxqa batch` makes of a project besides measuring it: true or false."""
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
    """Return the settings in a TOML file."""
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
    with naming(path):
        validate_settings_from(validate)
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
    with naming(path):
        settings_from(values)
    return SettingsFile(values, validate, reading, stages)


def _table(values: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    table = values.get(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: {name} is {table!r}; expected a table of settings")
    return table


def project_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of `validate` in the pyproject.toml of a folder or a parent."""
    for above in (folder, *folder.parents):
        path = above / "pyproject.toml"
        if path.is_file():
            tool = read_toml(path).get("tool", {})
            where = f"{path}, [tool.bboxqa.validate]"
            table = _table(tool.get("bboxqa", {}), "validate", where)
            with naming(where):
                validate_settings_from(table)
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
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not TOML: {error}") from None
