"""Settings of `agree`, checked against the registries of similarities and matchers."""

from collections.abc import Mapping
from typing import Any

from bboxqa.core.errors import ConfigError
from bboxqa.core.text import unknown_name
from bboxqa.geometry.similarities import registry as similarities
from bboxqa.matching import matchers
from bboxqa.model.settings import AgreeKeywords, AgreeSettings, setting_names, settings_from
from bboxqa.model.settings_files import read_settings_file

_OF_READING = {*AgreeSettings.__struct_fields__, "predictions", "score"} - {
    *AgreeKeywords.__annotations__
}


def agree_settings_from(
    values: Mapping[str, Any], where: str = "", names: Mapping[str, str] | None = None
) -> AgreeSettings:
    """Return checked settings; settings that are not given keep their defaults.

    Parameters and errors are as those of `settings_from`. The similarity and the matcher are
    looked up in their registries, which include those of other packages.

    Examples
    --------
    >>> agree_settings_from({"similarity": "poligon"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    bboxqa.core.errors.ConfigError: similarity is 'poligon'; expected one of ...; \
did you mean 'polygon'?
    """
    settings = settings_from(values, where, names)
    shown = setting_names(where, names or {})
    similarities.check_name(settings.similarity, shown("similarity"))
    if settings.matcher not in matchers.names():
        raise ConfigError(f"{shown('matcher')} {unknown_name(settings.matcher, matchers.names())}")
    if settings.sigmas and not similarities.needs_keypoints(settings.similarity):
        raise ConfigError(
            f"{shown('sigmas')} is given, but {shown('similarity')} is {settings.similarity!r}, "
            "which compares no key points; expected 'keypoints'"
        )
    lowest = similarities.similarity(settings.similarity).lowest
    for threshold in settings.iou_threshold:
        if not lowest < threshold <= 1:
            raise ConfigError(
                f"{shown('iou_threshold')} is {threshold:g}; expected more than {lowest:g} and at "
                f"most 1 for similarity {settings.similarity!r}"
            )
    return settings


def read_agree_settings(name: str) -> dict[str, Any]:
    """Return the checked settings of `agree` in a TOML file, or in one that comes with bboxqa.

    Parameters and errors are as those of `read_settings_file`.
    """
    values = read_settings_file(name).agree
    agree_settings_from(values, name)
    return values


def settings_of_keywords(keywords: Mapping[str, Any]) -> AgreeSettings:
    """Return the settings of a call from Python; raise ConfigError for settings of `read`."""
    for name in _OF_READING & keywords.keys():
        if keywords[name] is not None:
            raise ConfigError(f"{name} is for `bboxqa.read`, before the data set is measured")
    return agree_settings_from(
        {name: value for name, value in keywords.items() if name not in _OF_READING}
    )
