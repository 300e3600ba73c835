"""Names in any script: fonts that have their signs are found, and what none has is said once."""

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager

import bboxqa

# Of a script of the Bronze Age, which hardly any font has.
RARE = "\U00012f90"


def font(path, family, signs):
    """Write a font in which every sign is a square."""
    names = [".notdef", *(f"s{number}" for number in range(len(signs)))]
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for point in ((0, 700), (700, 700), (700, 0)):
        pen.lineTo(point)
    pen.closePath()
    square = pen.glyph()
    made = FontBuilder(1000, isTTF=True)
    made.setupGlyphOrder(names)
    made.setupCharacterMap({ord(sign): name for name, sign in zip(names[1:], signs, strict=True)})
    made.setupGlyf(dict.fromkeys(names, square))
    made.setupHorizontalMetrics(dict.fromkeys(names, (800, 0)))
    made.setupHorizontalHeader(ascent=800, descent=-200)
    made.setupNameTable({"familyName": family, "styleName": "Regular", "psName": family})
    made.setupOS2(sTypoAscender=800, usWinAscent=800, usWinDescent=200)
    made.setupPost()
    made.save(path)
    return str(path)


@pytest.fixture
def installed(tmp_path):
    """Install a font with the rare sign while a test runs."""
    path = font(tmp_path / "rare.ttf", "Bronze", RARE)
    font_manager.fontManager.addfont(path)
    yield
    entries = font_manager.fontManager.ttflist
    entries[:] = [entry for entry in entries if entry.fname != path]


def named(category):
    box = {"image_id": 1, "category_id": 1, "bbox": [5, 5, 30, 30]}
    records = [box | {"id": n, "annotator": name} for n, name in enumerate(("ann", "日本"))]
    return {
        "images": [{"id": 1, "file_name": "1.png", "width": 60, "height": 50}],
        "categories": [{"id": 1, "name": category}, {"id": 2, "name": "cow"}],
        "annotations": records,
    }


def test_a_sign_that_no_font_has_is_said_once(tmp_path):
    drawing = bboxqa.draw(named(RARE * 3), 1)
    (note,) = [each for each in drawing.notes if "no font" in each]
    assert RARE in note
    assert note.count(RARE) == 1
    assert note.endswith(", or another font")
    for suffix in ("png", "pdf", "svg"):
        drawing.save(tmp_path / f"1.{suffix}")
    # Texts of SVG are texts, which the fonts of the reader show.
    assert RARE * 3 in (tmp_path / "1.svg").read_text("utf-8")
    assert "日本" in (tmp_path / "1.svg").read_text("utf-8")


def test_a_font_that_has_the_sign_is_used(installed, tmp_path):
    drawing = bboxqa.draw(named(RARE), 1)
    assert not [each for each in drawing.notes if RARE in each]
    assert "Bronze" in drawing.axes[0].texts[0].get_fontfamily()
    assert b"+Bronze" in drawing.save(tmp_path / "1.pdf").read_bytes()
