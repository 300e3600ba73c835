"""A command that takes the pictures of pages in the README with Chromium.

Run `python docs/pictures/write_page_pictures.py FOLDER`.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

ROOT = Path(__file__).parents[2]
_ARGUMENTS = ["--no-sandbox", "--disable-gpu"]
# High enough for a whole page: images that are not in view are not drawn.
_SIZE = {"width": 1240, "height": 9000}


def write_page_pictures(folder: Path) -> None:
    """Write the first lines of a page, and an image that costs agreement, as PNG."""
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as made, sync_playwright() as driver:
        first, scene = _pages(Path(made))
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=_ARGUMENTS)
        shown = browser.new_page(viewport=_SIZE)
        shown.goto(first.as_uri())
        last = shown.locator("#figures .charts").bounding_box()
        top = {"x": 0, "y": 0, "width": _SIZE["width"], "height": last["y"] + last["height"]}
        shown.screenshot(path=folder / "report.png", clip=top)
        shown.goto(scene.as_uri())
        image = shown.locator(".image").bounding_box()
        around = {**image, "x": 0, "width": _SIZE["width"]}
        shown.screenshot(path=folder / "report_image.png", clip=around)
        browser.close()
    for name in ("report", "report_image"):
        path = folder / f"{name}.png"
        # A palette halves the size; this method keeps the colours of small dots.
        shot = Image.open(path).convert("RGB")
        flat = shot.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        flat.save(path, optimize=True)


def _pages(folder: Path) -> tuple[Path, Path]:
    """Return a page of simulated annotations, and one of coins with their photo."""
    command = [sys.executable, "-m", "bboxqa"]
    pages = folder / "street.html", folder / "coins.html"
    for words in (
        ["agree", "tests/data/street.json", "--report", pages[0]],
        ["agree", "tests/data/coins.json", "--images", "tests/data", "--report", pages[1]],
    ):
        subprocess.run([*command, *words], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)  # noqa: S603 - ours
    return pages


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/pictures/write_page_pictures.py FOLDER")
    write_page_pictures(Path(sys.argv[1]))
