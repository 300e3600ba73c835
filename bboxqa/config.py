"""Settings, typed and checked, from a TOML file or from arguments."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from bboxqa.errors import ConfigError

__all__ = ["AgreeSettings", "bundled_configs", "read_settings", "settings_from"]

# Fewer replicates have no 2.5 % at either end; all of them are held at once.
_MIN_BOOTSTRAP = 40
_MAX_BOOTSTRAP = 100_000

Attribution = Literal["annotator-key", "image-records", "files"]
EmptyImages = Literal["agree", "unit", "skip"]
Matcher = Literal["hungarian", "recursive", "greedy"]
Missing = Literal["category", "ignore"]
Similarity = Literal["bbox", "giou", "centroid", "polygon", "mask", "pixel", "raster"]


class AgreeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that decides what `agree` computes.

    Attributes
    ----------
    similarity : str
        How two annotations are compared.
    iou_threshold : tuple of float
        The similarities from which on two annotations can show one object; one result each.
    matcher : str
        How annotations are joined to units.
    category_lenient : bool
        Prefer pairs of equal category when matching.
    missing : {"category", "ignore"}
        Whether a missing annotation is a value of its own, or none.
    empty_images : {"agree", "unit", "skip"}
        An image that all its annotators left empty counts as agreement in the mean, or as one
        unit of agreement on nothing as well, or not at all.
    all_touched : bool
        For similarity "raster": burn every pixel that a ring touches.
    bootstrap : int
        Replicates for the intervals; 0 for none.
    seed : int
        Of the random numbers.
    min_alpha : float or None
        Images below it are marked, and a pooled alpha below it fails the run.
    annotator_key : str or None
        The key on annotations that names the annotator.
    attribution : str or None
        How to find out who annotated what.
    filter : str or None
        A glob that the names of files in folders have to match.
    """

    similarity: Similarity = "bbox"
    iou_threshold: tuple[float, ...] = (0.5,)
    matcher: Matcher = "recursive"
    category_lenient: bool = False
    missing: Missing = "category"
    empty_images: EmptyImages = "agree"
    all_touched: bool = False
    bootstrap: int = 1000
    seed: int = 0
    min_alpha: float | None = None
    annotator_key: str | None = None
    attribution: Attribution | None = None
    filter: str | None = None


def settings_from(values: Mapping[str, Any], where: str = "") -> AgreeSettings:
    """Return checked settings; what is not named keeps its default.

    Parameters
    ----------
    values : mapping
        Setting to value. `iou_threshold` is a number or several.
    where : str
        What to name in errors.

    Returns
    -------
    AgreeSettings

    Raises
    ------
    ConfigError
        If a setting is not known, has a wrong type, or contradicts another.

    Examples
    --------
    >>> settings_from({"iou_threshold": 0.75}).iou_threshold
    (0.75,)
    >>> settings_from({"matchers": "greedy"})
    Traceback (most recent call last):
        ...
    bboxqa.errors.ConfigError: unknown setting 'matchers'; did you mean 'matcher'?
    """
    prefix = f"{where}: " if where else ""
    values = {key: _plain(value) for key, value in values.items()}
    for key in values:
        if key not in AgreeSettings.__struct_fields__:
            raise ConfigError(f"{prefix}unknown setting {key!r}{_nearest(key)}")
    thresholds = values.get("iou_threshold")
    if isinstance(thresholds, int | float):
        values["iou_threshold"] = (thresholds,)
    try:
        settings = msgspec.convert(values, AgreeSettings)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$.")
        key = place.rstrip("`") or "settings"
        name, _, index = key.rstrip("]").partition("[")
        found = values.get(name)
        if index.isdigit() and isinstance(found, list | tuple):
            found = found[int(index)]
        message = message[0].lower() + message[1:]
        raise ConfigError(f"{prefix}{key} is {found!r}: {message}{_choices(key)}") from None
    _check(settings, prefix)
    return settings


def _plain(value: Any) -> Any:
    """Return numbers and arrays of numpy as plain ones, without loading numpy to know them."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _nearest(key: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(key, AgreeSettings.__struct_fields__, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _choices(key: str) -> str:
    choices = getattr(AgreeSettings.__annotations__.get(key), "__args__", ())
    names = [choice for choice in choices if isinstance(choice, str)]
    return f"; expected one of {', '.join(names)}" if names else ""


def _check(settings: AgreeSettings, prefix: str) -> None:
    lowest = -1.0 if settings.similarity == "giou" else 0.0
    if not settings.iou_threshold:
        raise ConfigError(f"{prefix}iou_threshold is empty; expected at least one number")
    for threshold in settings.iou_threshold:
        if not lowest < threshold <= 1:
            raise ConfigError(
                f"{prefix}iou_threshold is {threshold:g}; expected more than {lowest:g} and at "
                f"most 1 for similarity {settings.similarity!r}"
            )
    if len(set(settings.iou_threshold)) < len(settings.iou_threshold):
        raise ConfigError(f"{prefix}iou_threshold names a number twice")
    if settings.bootstrap and not _MIN_BOOTSTRAP <= settings.bootstrap <= _MAX_BOOTSTRAP:
        raise ConfigError(
            f"{prefix}bootstrap is {settings.bootstrap}; expected 0, or "
            f"{_MIN_BOOTSTRAP} to {_MAX_BOOTSTRAP:,}"
        )
    if settings.seed < 0:
        raise ConfigError(f"{prefix}seed is {settings.seed}; expected 0 or more")
    if settings.min_alpha is not None and not -1 <= settings.min_alpha <= 1:
        raise ConfigError(f"{prefix}min_alpha is {settings.min_alpha:g}; expected -1 to 1")
    if settings.empty_images == "unit" and settings.missing == "ignore":
        raise ConfigError(
            f"{prefix}empty_images 'unit' is agreement on what is missing, which missing "
            "'ignore' leaves out; choose missing 'category' or empty_images 'agree'"
        )


def bundled_configs() -> dict[str, Path]:
    """Return the settings that come with the package, by name."""
    package = Path(__file__).parent
    # An installed package holds them; a checkout has them at its top.
    for folder in (package / "configs", package.parent / "configs"):
        if folder.is_dir():
            return {path.stem: path for path in sorted(folder.glob("*.toml"))}
    return {}


def read_settings(name: str) -> dict[str, Any]:
    """Return the settings in a TOML file, or in one that comes with the package.

    Parameters
    ----------
    name : str
        A path, or the name of bundled settings such as "coco-bbox".

    Returns
    -------
    dict
        Setting to value, checked.

    Raises
    ------
    ConfigError
        If there is no such file, it is not TOML, or a setting is wrong.
    """
    path = Path(name)
    if not path.is_file():
        bundled = bundled_configs()
        if name not in bundled:
            raise ConfigError(
                f"{name}: no such file, and none of the settings that come with bboxqa: "
                + ", ".join(bundled)
            )
        path = bundled[name]
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not TOML: {error}") from None
    settings_from(values, str(path))
    return values
