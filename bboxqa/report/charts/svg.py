"""Figures as SVG elements of a page."""

from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from bboxqa.core.text import one_line
from bboxqa.report.charts.figures import CHART_WIDTH, page_style
from bboxqa.report.charts.palette import BACK, CLASSES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_COLORED = ("fill", "stroke")
# Properties that the style of the page sets.
_LEFT_OUT = ("font", "font-family", "-inkscape-font-specification")
_PIXELS_PER_POINT = 96 / 72
# Charts that are wider by more than this are scrolled on a phone instead of scaled.
_MOST_SCALED = 1.1
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def figure_svg(figure: "Figure", name: str, label: str) -> str:
    """Return a figure as an `svg` element.

    It is shown unchanged by a page whose policy forbids inline styles: properties are attributes,
    and colours of the palette are classes, such as ``fill-text``, that the page defines for light
    and dark screens. Texts remain texts.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    name : str
        Prefix of ids, which must be unique in a page.
    label : str
        Description of the figure for screen readers.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    file = StringIO()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            if not axis.get_label_text():
                # Placing a label beside the tick labels automatically is slow.
                axis.set_label_coords(0, 0)
    canvas: Any = FigureCanvasSVG(figure)
    with page_style():
        # Not `savefig`, which draws the figure twice.
        canvas.print_svg(file, metadata=_NO_METADATA)
    # The text comes from matplotlib, so that it holds no foreign entities.
    root = ET.fromstring(file.getvalue())  # noqa: S314
    for parent in [*root.iter()]:
        for child in [*parent]:
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    for element in root.iter():
        _restyle(element)
        _rename(element, name)
    for side in ("width", "height"):
        points = float(root.attrib[side].removesuffix("pt"))
        root.set(side, f"{points * _PIXELS_PER_POINT:.7g}")
    broad = figure.get_figwidth() > _MOST_SCALED * CHART_WIDTH
    root.attrib.update(
        {"class": "chart broad" if broad else "chart", "role": "img", "aria-label": one_line(label)}
    )
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    return ET.tostring(root, encoding="unicode")


def image_element(ax: "Axes", label: str) -> str:
    """Return the figure of axes as an `img` element that holds its SVG, on white."""
    figure: Any = ax.figure
    file = StringIO()
    with page_style():
        figure.savefig(file, format="svg", metadata=_NO_METADATA, facecolor=BACK)
    content = quote(file.getvalue(), safe=" /:;=,()")
    return f'<img alt="{escape(label)}" src="data:image/svg+xml,{content}">'


def _restyle(element: ET.Element) -> None:
    """Turn the style of an element into attributes and classes."""
    style = element.attrib.pop("style", "")
    pairs = (part.partition(":") for part in style.split(";") if ":" in part)
    properties = {name.strip(): value.strip() for name, _, value in pairs}
    if "font" in properties:
        # Written as: 10px 'DejaVu Sans', …
        size = next(part for part in properties["font"].split() if part.endswith("px"))
        properties["font-size"] = size
        if "bold" in properties["font"] or "700" in properties["font"].split():
            properties["font-weight"] = "700"
    classes = []
    for name, value in properties.items():
        known = CLASSES.get(value.lower()) if name in _COLORED else None
        if known is not None:
            classes.append(f"{name}-{known}")
        elif name not in _LEFT_OUT:
            element.set(name, value)
    for name in _COLORED:
        known = CLASSES.get(element.get(name, "").lower())
        if known is not None:
            classes.append(f"{name}-{known}")
            del element.attrib[name]
    if classes:
        element.set("class", " ".join(classes))


def _rename(element: ET.Element, name: str) -> None:
    """Prefix ids and references to them with a name."""
    for key, value in [*element.attrib.items()]:
        if key == "id":
            element.set(key, f"{name}-{value}")
        elif key in ("href", f"{{{_XLINK}}}href") and value.startswith("#"):
            element.set(key, f"#{name}-{value[1:]}")
        elif value.startswith("url(#"):
            element.set(key, f"url(#{name}-{value[5:]}")
