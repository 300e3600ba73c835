"""Keys of CVAT annotations other than the geometry."""

from collections.abc import Mapping

from bboxqa.formats.translation.translated import Record

# Attributes of elements that are kept if they are not 0.
_MORE = ("occluded", "group_id", "z_order")
_OF_TRACKS = ("track_id", "keyframe")
OF_SHAPES = (*_MORE, "rotation")
"""Values of a shape, whose names attributes of its label may have as well."""
OF_LABEL = "label."
"""What precedes the name of an attribute of a label if a value of the shape has that name."""
_NOTHING: Mapping[str, str] = {}


def said_more(
    values: Mapping[str, str],
    of_shape: Mapping[str, object] = _NOTHING,
    inside: Mapping[str, str] = _NOTHING,
    *,
    frame: int = -1,
) -> Record:
    """Return the keys of an annotation other than its geometry.

    Values of the shape keep their names; an answer of the same name follows "label.", whether or
    not the shape has the value.

    >>> said_more({"occluded": "1"}, inside={"occluded": "false", "side": "left"})
    {'attributes': {'occluded': '1', 'label.occluded': 'false', 'side': 'left'}}

    Parameters
    ----------
    values : mapping of str to str
        The attributes of the XML element.
    of_shape : mapping
        Values of the shape, such as its rotation.
    inside : mapping of str to str
        The annotator's answers to the attributes of the label.
    frame : int
        The frame of a track; -1 for a shape of an image.
    """
    attributes = {**of_shape}
    for key in _MORE:
        if values.get(key, "0") != "0":
            attributes[key] = values[key]
    if frame >= 0:
        attributes["track_id"] = values.get("id", "")
        attributes["keyframe"] = values.get("keyframe") == "1"
    own = (*OF_SHAPES, *_OF_TRACKS) if frame >= 0 else OF_SHAPES
    attributes |= {OF_LABEL * (key in own) + key: each for key, each in inside.items()}
    found: Record = {"attributes": attributes} if attributes else {}
    if values.get("source", "manual") != "manual":
        found["source"] = values["source"]
    return found
