"""Pages in a real browser: they open offline, work, are accessible, and show what the data say."""

import re
import shutil
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from support.cli import run
from support.datasets import annotation, document, document_of, write

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = ROOT / ".venv/node_modules/axe-core/axe.min.js"
# Chromium asks its maker's servers many things by itself.
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
N_IMAGES = 1000
HOSTILE = [
    "<script>document.title = 'x'</script>",
    '"><img src=x onerror=document.title=1>',
    "\u202egnp.exe",
    "long " * 60,
    "🐑 sheep",
]

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield found
        found.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def agreement(folder):
    """The page of three annotators, and its result."""
    data = ROOT / "tests/data/simulated.json"
    done = run("agree", data, "--out", folder / "run", "--report", folder / "agreement.html")
    assert done.returncode == 0, done.stderr
    return folder / "agreement.html"


@pytest.fixture(scope="module")
def hostile(folder):
    """The page of a file in which every name is hostile."""
    names = [f"{name}{n}" for n in range(3) for name in HOSTILE]
    rows = [
        (place + 1, names[a], 1 + (a + place) % 5, (7 * a, 10, 20, 30))
        for place in range(6)
        for a in range(5)
    ]
    content = document_of(rows, names[:6], names[:5], size=(90, 90))
    path = write(folder / "hostile.json", content)
    done = run("agree", path, "--report", folder / "hostile.html", "--bootstrap", "40")
    assert done.returncode == 0, done.stderr
    return folder / "hostile.html"


@pytest.fixture(scope="module")
def findings(folder):
    """The page of what is wrong with a file."""
    records = [annotation(n, bbox=(10 * n, 10, 20, 20 * (n % 2))) for n in range(1, 7)]
    path = write(folder / "export.json", document(records))
    done = run("validate", path, "--report", folder / "findings.html")
    assert done.returncode == 1, done.stderr
    return folder / "findings.html"


@pytest.fixture(scope="module")
def batch(folder):
    """The page of a batch."""
    for name in ("one", "two"):
        shutil.copytree(ROOT / "tests/data", folder / "root" / name)
    done = run("batch", folder / "root", "--out", folder / "batch", "--jobs", "1")
    assert done.returncode in (0, 1), done.stderr
    return folder / "batch/index.html"


@pytest.fixture(scope="module")
def split(folder):
    """The pages, in a folder, of a thousand images."""
    content = BytesIO()
    Image.new("RGB", (60, 40), "teal").save(content, "PNG")
    (folder / "pixels").mkdir()
    images = [f"{n:04}.png" for n in range(N_IMAGES)]
    for name in images:
        (folder / "pixels" / name).write_bytes(content.getvalue())
    rows = [
        (n + 1, f"p{a}", 1 + (n + a * (n % 3 == 0)) % 2, (5, 5 + a * (n % 7), 20, 20))
        for n in range(N_IMAGES)
        for a in range(2)
    ]
    thousand = document_of(rows, images, ("cow", "sheep"), size=(60, 40))
    path = write(folder / "thousand.json", thousand)
    done = run(
        "agree", path, "--bootstrap", "40", "--images", folder / "pixels", "--report",
        folder / "split", "--split",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "split"


@pytest.fixture(scope="module")
def split_index(split):
    return split / "index.html"


@pytest.fixture(scope="module")
def split_images(split):
    return split / "images-20.html"


@pytest.fixture
def opened(browser):
    """Return a function that opens a page, which may neither complain nor ask for anything."""
    contexts = []

    def open_page(path):
        context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.complaints, page.requests = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def shared_page(browser, agreement):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    page.goto(agreement.as_uri())
    yield page
    context.close()


@pytest.fixture
def page(shared_page):
    """The page of three annotators from its top; tests leave its controls as they are."""
    shared_page.mouse.move(0, 0)
    shared_page.evaluate("scrollTo(0, 0)")
    return shared_page


@pytest.mark.parametrize(
    "name", ["agreement", "hostile", "findings", "batch", "split_index", "split_images"]
)
def test_a_page_opens_offline_without_a_complaint_and_fits(name, opened, request):
    path = request.getfixturevalue(name)
    page = opened(path)
    assert page.complaints == []
    asked = [url for url in page.requests if not url.startswith("data:")]
    if name.startswith("split"):
        assert all(url.startswith(f"{path.parent.as_uri()}/") for url in page.requests)
    else:
        assert asked == [path.as_uri()]
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("innerWidth") == width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("main > :first-child").bounding_box()["y"] >= 16


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed in .venv")
@pytest.mark.parametrize("name", ["agreement", "findings", "batch", "split_index", "split_images"])
def test_axe_finds_nothing(name, opened, request):
    page = opened(request.getfixturevalue(name))
    # The first tiles, images and rows of many are like the others.
    many = ", ".join(f"{each}:nth-of-type(n + 9)" for each in (".tile", ".image", "tr"))
    page.evaluate(f"document.querySelectorAll('{many}').forEach((each) => each.remove())")
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    # Evaluated by the debugger, which no policy of the page forbids.
    page.evaluate(AXE.read_text("utf-8"))
    of_colours = "{runOnly: ['color-contrast', 'link-in-text-block']}"
    for scheme, rules in (("light", "{}"), ("dark", of_colours)):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(f"matchMedia('(prefers-color-scheme: {scheme})').matches")
        options = f"{{resultTypes: ['violations'], ...{rules}}}"
        found = page.evaluate(f"axe.run(document, {options})")
        assert [
            (each["id"], [node["html"][:120] for node in each["nodes"][:3]])
            for each in found["violations"]
        ] == [], scheme


def test_an_annotator_is_switched_off_and_on(page):
    shapes = page.locator('.shape[data-annotator="1"]')
    others = page.locator('.shape:not([data-annotator="1"]):not(.off)')
    n_others = others.count()
    assert shapes.count() > 0
    box = page.locator('.controls input[name=annotator][value="1"]')
    box.uncheck()
    assert page.locator('.shape[data-annotator="1"]:not(.off)').count() == 0
    assert others.count() == n_others
    box.check()
    assert page.locator('.shape[data-annotator="1"].off').count() == 0


def test_images_are_found_filtered_and_sorted(page):
    shown = page.locator(".image:not([hidden])")
    total = shown.count()
    first = shown.first.get_attribute("data-name")
    page.fill("[name=find]", first)
    assert shown.count() == 1
    assert page.inner_text("output") == f"1 of {total} images shown"
    page.fill("[name=find]", "")
    page.check("[name=kind][value='class conflict']")
    kinds = shown.evaluate_all("(all) => all.map((each) => each.dataset.kinds)")
    assert 0 < len(kinds) < total
    assert all("class conflict" in each.split("|") for each in kinds)
    page.uncheck("[name=kind][value='class conflict']")
    page.select_option("[name=order]", "name")
    names = shown.evaluate_all("(all) => all.map((each) => each.dataset.name)")
    assert names == sorted(names)
    page.select_option("[name=order]", "cost")
    assert shown.first.get_attribute("data-name") == first


@pytest.mark.parametrize("name", ["agreement", "split_index"])
def test_the_summary_is_printed_on_one_page(name, opened, request):
    pages = re.findall(rb"/Type */Page\b", opened(request.getfixturevalue(name)).pdf(format="A4"))
    assert len(pages) == 1


def test_without_a_script_everything_is_shown(browser, agreement):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(agreement.as_uri())
    assert page.locator(".controls").is_hidden()
    assert page.locator(".image").first.is_visible()
    assert page.locator("button").count() == 0
    context.close()


def test_a_folder_of_a_thousand_images_loads_what_is_seen(opened, split):
    page = opened(split / "index.html")
    assert page.complaints == []
    assert page.locator(".tile").count() == N_IMAGES
    own = split.as_uri()
    assert all(url.startswith(f"{own}/") for url in page.requests)
    # Only what can be seen is loaded.
    n_loaded = sum(url.endswith(".webp") for url in page.requests)
    assert n_loaded < N_IMAGES / 4
    image = page.locator(".tile img").first
    image.scroll_into_view_if_needed()
    page.wait_for_function("(image) => image.complete", arg=image.element_handle())
    assert image.evaluate("(image) => image.naturalWidth") == 60


def test_a_tile_leads_to_what_was_drawn_and_back(opened, split):
    page = opened(split / "index.html")
    page.locator("[data-name='0999.png'] a").click()
    page.wait_for_url("**/images-7.html#image-334")
    image = page.locator("#image-334")
    assert image.locator("h3").inner_text() == "334. 0999.png"
    is_shown = "(image) => Math.abs(image.getBoundingClientRect().top) < 120"
    page.wait_for_function(is_shown, arg=image.element_handle())
    assert image.locator(".shape").count() == 2
    page.uncheck(".controls [name=annotator][value='1']")
    assert image.locator(".shape:not(.off)").count() == 1
    page.get_by_role("link", name="Back to the result").click()
    page.wait_for_url("**/index.html#images")
    assert page.complaints == []
