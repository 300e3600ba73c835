"""The landscape: pixel art of 64 x 64, painted from the sky to the river in front."""

from itertools import pairwise

from PIL import Image

__all__ = ["draw_landscape"]

_SIZE = 64
_PAINT = {
    "sky": ((96, 168, 228), (128, 190, 238), (164, 212, 244), (200, 230, 248)),
    "cloud": ((255, 255, 255), (226, 238, 248)),
    "hill": ((138, 168, 196), (120, 150, 182)),
    "meadow": ((150, 196, 84), (128, 178, 72), (108, 158, 62)),
    "grass": ((112, 178, 62), (92, 156, 52), (72, 132, 44)),
    "leaf": ((86, 152, 66), (60, 122, 52), (40, 94, 46)),
    "trunk": ((112, 76, 48), (84, 56, 38)),
    "rock": ((158, 148, 138), (128, 118, 110), (98, 90, 86), (72, 66, 66)),
    "earth": ((140, 112, 88), (114, 90, 72), (90, 70, 60), (68, 54, 50)),
    "water": ((58, 128, 192), (76, 148, 208), (112, 180, 226)),
    "foam": ((240, 250, 255), (196, 230, 246), (150, 206, 238)),
}


def draw_landscape() -> Image.Image:
    """Draw the landscape at its own size, RGB of 64 x 64.

    Every place is read off the boxes that annotators matched on: the cliff with its grass left,
    the tall fall at its edge, the pool behind two banks, the low fall and the river in front.
    """
    image = Image.new("RGB", (_SIZE, _SIZE))
    for paint in (_sky, _meadow, _tree, _cliff, _pool, _tall_fall, _boulders, _banks, _front):
        paint(image)
    return image


def _noise(x: int, y: int) -> int:
    # A hash instead of a generator: the grain of a pixel does not depend on what is drawn first.
    value = (x * 374761393 + y * 668265263) & 0xFFFFFFFF
    value = ((value ^ (value >> 13)) * 1274126177) & 0xFFFFFFFF
    return (value ^ (value >> 16)) & 0xFF


def _dot(image: Image.Image, x: int, y: int, paint: str, tone: int) -> None:
    if 0 <= x < _SIZE and 0 <= y < _SIZE:
        tones = _PAINT[paint]
        image.putpixel((x, y), tones[max(0, min(tone, len(tones) - 1))])


def _level(x: int, points: tuple[tuple[int, int], ...]) -> int:
    for (left, low), (right, high) in pairwise(points):
        if left <= x <= right:
            return round(low + (high - low) * (x - left) / max(1, right - left))
    return points[-1][1]


def _turf(
    image: Image.Image, columns: range, top: tuple[tuple[int, int], ...], bottom: int, paint: str
) -> None:
    for x in columns:
        start = _level(x, top) + (_noise(x, 3) % 5 == 0)
        for y in range(start, bottom):
            depth = (y - start) // 3
            _dot(image, x, y, paint, 0 if y == start else depth + (_noise(x, y) % 4 == 0))


def _stone(image: Image.Image, columns: range, rows: range, paint: str) -> None:
    for y in rows:
        for x in columns:
            course = (y + _noise(x // 5, 7) % 3) // 4
            crack = (y + _noise(x // 5, 7) % 3) % 4 == 3 or (x + 3 * (course % 2)) % 6 == 0
            _dot(image, x, y, paint, 1 + (2 if crack else 0) - (_noise(x, y) % 5 == 0))


def _sky(image: Image.Image) -> None:
    for y in range(40):
        for x in range(_SIZE):
            band = y / 9
            checker = band % 1 > 0.75 and (x + y) % 2 == 0
            _dot(image, x, y, "sky", int(band) + checker)
    for left, top, width in ((26, 5, 13), (50, 10, 9), (5, 8, 8), (36, 15, 7)):
        for x in range(left, left + width):
            _dot(image, x, top + 1, "cloud", 0)
            _dot(image, x + 1, top + 2, "cloud", 1)
            if left + 2 <= x < left + width - 3:
                _dot(image, x, top, "cloud", 0)
    ridge = ((20, 31), (27, 26), (33, 30), (40, 25), (48, 30), (63, 27))
    for x in range(20, _SIZE):
        for y in range(_level(x, ridge), 42):
            _dot(image, x, y, "hill", y > _level(x, ridge) + 3)


def _meadow(image: Image.Image) -> None:
    _turf(image, range(31, _SIZE), ((31, 37), (40, 33), (52, 29), (63, 26)), 42, "meadow")


def _tree(image: Image.Image) -> None:
    for y in range(27, 32):
        for x in (47, 48, 49):
            _dot(image, x, y, "trunk", x == 49)
    for dx, tone in ((-1, 0), (3, 1)):
        _dot(image, 47 + dx, 31, "trunk", tone)
    for y in range(19, 29):
        for x in range(41, 56):
            across, down = (x - 48) / 6.9, (y - 23.4) / 4.9
            lumpy = across**2 + down**2 + (_noise(x, y) % 7 == 0) * 0.12
            if lumpy <= 1:
                light = across + 1.5 * down
                tone = (light > -0.5) + (light > 0.6)
                _dot(image, x, y, "leaf", tone + (_noise(x, y) % 5 == 0))


def _cliff(image: Image.Image) -> None:
    _stone(image, range(22), range(22, 46), "rock")
    for y in range(23, 46):
        _dot(image, 21, y, "rock", 3)
    _turf(image, range(21), ((0, 16), (8, 16), (14, 18), (20, 20)), 23, "grass")
    for x in range(21):
        for y in range(23, 23 + _noise(x, 1) % 3):
            _dot(image, x, y, "grass", 2)


def _pool(image: Image.Image) -> None:
    for y in range(39, 54):
        left = 17 if y < 48 else 8
        for x in range(left, 57):
            ripple = (x + 2 * y) % 9 < 3 and y % 3 == 0
            _dot(image, x, y, "water", 2 if ripple else (y < 44) - (_noise(x // 3, y) % 6 == 0))


def _tall_fall(image: Image.Image) -> None:
    for y, left in ((19, 13), (20, 15), (21, 18)):
        for x in range(left, 20):
            _dot(image, x, y, "water", 2 if (x + y) % 4 == 0 else 1)
    for y in range(20, 41):
        wide = 1 if y < 24 else 0
        for x in range(18 + wide, 28 - wide):
            streak = _noise(x, (y + 2 * x) // 7) % 3
            _dot(image, x, y, "foam", streak)
    for x in range(16, 31):
        for y in range(39, 42):
            if _noise(x, y) % 3 or y == 40:
                _dot(image, x, y, "foam", _noise(x, y) % 2)


def _boulders(image: Image.Image) -> None:
    _stone(image, range(57, _SIZE), range(38, 49), "rock")
    for middle, top, half, bottom in (
        (59, 33, 5, 44),
        (51, 37, 5, 46),
        (47, 43, 3, 49),
        (57, 42, 6, 49),
    ):
        for y in range(top, bottom):
            reach = min(half, y - top + 2)
            for x in range(middle - reach, middle + reach + 1):
                side = (x - middle) / half + (y - top) / (bottom - top)
                tone = (side > -0.2) + (side > 0.5) + (side > 1.1)
                _dot(image, x, y, "rock", tone + (_noise(x, y) % 6 == 0))


def _banks(image: Image.Image) -> None:
    for x in range(33):
        start = _level(x, ((0, 40), (12, 41), (20, 45), (32, 48)))
        for y in range(start, 49):
            _dot(image, x, y, "grass", (y - start) // 2 + (_noise(x, y) % 4 == 0))
    _turf(image, range(17, _SIZE), ((17, 53), (28, 52), (40, 50), (52, 48), (63, 48)), 57, "grass")
    for x, y, tone in ((4, 43, 0), (9, 46, 0), (24, 54, 0), (46, 52, 0), (57, 51, 0), (35, 54, 0)):
        for dx, dy in ((0, 0), (1, -1), (-1, -1)):
            _dot(image, x + dx, y + dy, "grass", tone)


def _front(image: Image.Image) -> None:
    _stone(image, range(8), range(49, 60), "earth")
    _stone(image, range(17, _SIZE), range(57, _SIZE), "earth")
    for x in range(17, _SIZE):
        for y in range(57, 57 + _noise(x, 9) % 3):
            _dot(image, x, y, "grass", 2)
    for y in range(60, _SIZE):
        for x in range(45 - (y == 60) * 3):
            _dot(image, x, y, "water", 2 if (x + 3 * y) % 8 < 2 else y % 2)
    for y in range(52, 61):
        for x in range(8, 17):
            _dot(image, x, y, "foam", _noise(x, (y + 2 * x) // 6) % 3)
    for x in range(6, 20):
        if _noise(x, 61) % 3:
            _dot(image, x, 60, "foam", x % 2)
