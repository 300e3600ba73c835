"""Pages in a real browser: they open offline, work, are accessible, and show what the data say."""

import json
import re
import shutil
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from support.cli import run
from support.datasets import annotation, document, write

import bboxqa

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
    images = [{"id": i, "file_name": names[i], "width": 90, "height": 90} for i in range(6)]
    categories = [{"id": i, "name": name} for i, name in enumerate(names[:5])]
    records = [
        {
            "id": 5 * i + a, "image_id": i, "category_id": (a + i) % 5, "annotator": names[a],
            "bbox": [7 * a, 10, 20, 30],
        }
        for i in range(6) for a in range(5)
    ]  # fmt: skip
    data = {"images": images, "categories": categories, "annotations": records}
    path = write(folder / "hostile.json", data)
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
    images = [
        {"id": n, "file_name": f"{n:04}.png", "width": 60, "height": 40} for n in range(N_IMAGES)
    ]
    for image in images:
        (folder / "pixels" / image["file_name"]).write_bytes(content.getvalue())
    records = [
        {
            "id": 2 * n + a, "image_id": n, "category_id": (n + a * (n % 3 == 0)) % 2,
            "annotator": f"p{a}", "bbox": [5, 5 + a * (n % 7), 20, 20],
        }
        for n in range(N_IMAGES) for a in range(2)
    ]  # fmt: skip
    categories = [{"id": 0, "name": "cow"}, {"id": 1, "name": "sheep"}]
    data = {"images": images, "categories": categories, "annotations": records}
    path = write(folder / "thousand.json", data)
    done = run(
        "agree", path, "--bootstrap", "40", "--images", folder / "pixels", "--report",
        folder / "split", "--split",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "split"


@pytest.fixture(scope="module")
def crowd_of_ten(folder):
    """The page of ten annotators, of whom four draw boxes too far to the right."""
    export = folder / "ten.json"
    errors = {"*": {"jitter": 1}} | {f"p{n:02}": {"offset": [5, 0]} for n in range(2, 10, 2)}
    data = bboxqa.simulate(images=20, annotators=10, objects=8, errors=errors, seed=3)
    export.write_text(json.dumps(data.document()))
    done = run("agree", export, "--bootstrap", "300", "--report", folder / "ten.html")
    assert done.returncode == 0, done.stderr
    return folder / "ten.html"


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


def test_names_are_inert_and_shown(opened, hostile):
    page = opened(hostile)
    assert page.title() == "Agreement of 5 annotators"
    text = page.inner_text("main")
    assert "<script>document.title = 'x'</script>0" in text
    assert "onerror=" in text
    assert r"\u202egnp.exe" in text
    assert "🐑 sheep" in text
    assert page.locator("main script, main img, main b").count() == 0


def test_boxes_lie_where_the_data_say(page, folder):
    drawn = page.evaluate(
        """() => [...document.querySelectorAll(".image")].map((image) => [
          image.dataset.name,
          [...image.querySelectorAll(".shape path:not(.halo)")].map((path) => {
            const {x, y, width, height} = path.getBBox();
            return [x, y, width, height];
          }),
        ])"""
    )
    worst = json.loads((folder / "run/worst_images.json").read_text())["images"]
    # Images on which all agree, and which raise agreement, are left out.
    worst = [
        image
        for image in worst
        if image["cost"] >= 0 or any(each["kind"] != "all agree" for each in image["objects"])
    ][: len(drawn)]
    assert [name for name, _ in drawn] == [image["file_name"] for image in worst]
    for (_, boxes), image in zip(drawn, worst, strict=True):
        expected = [shape["bbox"] for shape in image["shapes"]]
        # Broken lines are drawn above solid ones.
        for box, right in zip(sorted(boxes), sorted(expected), strict=True):
            assert box == pytest.approx(right, abs=0.01)


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


def test_numbers_are_those_of_the_objects_that_are_drawn(page):
    labels = page.locator(".numbers text:not(.off)")
    n_all = labels.count()
    box = page.locator(".controls input[name=all]")
    box.uncheck()
    assert labels.count() == 0
    hidden = page.locator(".numbers text").first
    assert hidden.evaluate("(text) => getComputedStyle(text).display") == "none"
    page.locator('.controls input[name=annotator][value="1"]').check()
    of_one = page.locator('.image:has(.shape[data-annotator="1"])').first
    drawn = of_one.locator('.shape[data-annotator="1"]').evaluate_all(
        "(all) => all.map((shape) => shape.dataset.object)"
    )
    # Objects on which all agree have no number.
    numbers = of_one.locator(".numbers text").evaluate_all(
        "(all) => all.map((text) => [text.dataset.object, !text.classList.contains('off')])"
    )
    assert numbers == [[number, number in drawn] for number, _ in numbers]
    assert 0 < labels.count() < n_all
    box.check()
    assert labels.count() == n_all > 0


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


@pytest.fixture(scope="module")
def crowd(folder):
    """The page of 9 annotators: the first missed most, and the last drew most alone."""
    names = [f"annotator a{n}" for n in range(9)]
    images = [
        {"id": n, "file_name": f"{n}.png", "width": 99, "height": 99, "annotators": names}
        for n in range(9)
    ]
    records = [
        {"id": 20 * i + 9 * extra + a, "image_id": i, "category_id": 1, "annotator": name,
         "bbox": [10 + 40 * extra, 10, 30, 30]}
        for i in range(9) for extra in (0, 1) for a, name in enumerate(names)
        if (i >= 8 - a if not extra else i < a == 8)
    ]  # fmt: skip
    categories = [{"id": 1, "name": "cow"}]
    data = {"images": images, "categories": categories, "annotations": records}
    path = write(folder / "crowd.json", data)
    done = run("agree", path, "--report", folder / "crowd.html", "--bootstrap", "0")
    assert done.returncode == 0, done.stderr
    return folder / "crowd.html"


def test_cards_are_sorted_and_found(opened, crowd):
    page = opened(crowd)
    form = page.get_by_role("form", name="Cards of annotators")
    cards = page.locator(".card:not([hidden])")
    names = "(all) => all.map((each) => each.dataset.name)"
    first = cards.evaluate_all(names)
    form.get_by_label("Order").select_option("most misses")
    assert cards.first.get_attribute("data-name") == "annotator a0"
    form.get_by_label("Order").select_option("most extras")
    assert cards.first.get_attribute("data-name") == "annotator a8"
    form.get_by_label("Order").select_option("name")
    assert cards.evaluate_all(names) == [f"annotator a{n}" for n in range(9)]
    form.get_by_label("Order").select_option("lowest F1")
    assert cards.evaluate_all(names) == first
    form.get_by_label("Find").fill("A3")
    assert cards.evaluate_all(names) == ["annotator a3"]
    assert form.locator("output").inner_text() == "1 of 9 cards shown"


def test_all_annotators_are_offered_on_a_phone(browser, crowd):
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(crowd.as_uri())
    heights = page.locator("fieldset:has([name=annotator])").evaluate(
        "(each) => [each.scrollHeight, each.clientHeight]"
    )
    context.close()
    assert heights[0] == heights[1]


def test_all_annotators_are_switched_off_together(page):
    drawn = page.locator(".shape:not(.off)")
    total = drawn.count()
    page.uncheck(".controls input[name=all]")
    assert drawn.count() == 0
    page.check('.controls input[name=annotator][value="1"]')
    assert 0 < drawn.count() < total
    page.check(".controls input[name=all]")
    assert drawn.count() == total


def test_a_table_is_sorted_by_keyboard(page):
    page.get_by_text("Pairs as a table", exact=True).press("Enter")
    table = page.locator("table[data-name=Pairs]")
    head = table.get_by_role("button", name="f1", exact=True)
    head.focus()
    head.press("Enter")
    place = head.evaluate("(button) => button.closest('th').cellIndex")
    values = table.locator(f"tbody td:nth-child({place + 1})").all_inner_texts()
    assert [float(each) for each in values] == sorted(float(each) for each in values)
    assert head.evaluate("(button) => button.closest('th').ariaSort") == "ascending"


def test_the_csv_of_a_table_has_whole_numbers_and_no_dashes(page, folder):
    found = page.evaluate(
        "csv(document.querySelector('table[data-name=Pairs]')).split('\\n').slice(0, 2)"
    )
    pair = json.loads((folder / "run/summary.json").read_text())["thresholds"][0]["pairs"][0]
    assert found[0].split(",") == [*pair]
    assert found[1].split(",") == [str(value) for value in pair.values()]
    none = page.evaluate(
        "(() => { const cell = document.createElement('td'); cell.dataset.value = '';"
        " cell.textContent = '–'; return cellText(cell); })()"
    )
    assert none == ""


def test_figures_are_sorted_by_their_value(page):
    head = page.get_by_role("button", name="value", exact=True)
    head.press("Enter")
    values = page.locator("table[data-name=Figures] tbody td:nth-child(2)").evaluate_all(
        "(all) => all.map((cell) => Number(cell.dataset.value))"
    )
    assert len(values) == 6
    assert values == sorted(values)


def test_keys_go_from_image_to_image(page):
    page.locator("#images").scroll_into_view_if_needed()

    def current():
        return page.evaluate(
            "() => [...document.querySelectorAll('.image')]"
            ".findIndex((image) => Math.abs(image.getBoundingClientRect().top) < 120)"
        )

    page.keyboard.press("j")
    start = current()
    page.keyboard.press("j")
    assert current() == start + 1
    assert page.evaluate(
        "(n) => document.activeElement.matches('h3')"
        " && document.querySelectorAll('.image')[n].contains(document.activeElement)",
        start + 1,
    )
    page.keyboard.press("k")
    assert current() == start


def test_an_object_and_its_reason_are_marked_together(page):
    image = page.locator(".image").first
    line = image.locator("li[data-object]").first
    line.hover()
    number = line.get_attribute("data-object")
    lit = image.locator(".shape.lit").evaluate_all(
        "(all) => all.map((each) => each.dataset.object)"
    )
    assert lit
    assert set(lit) == {number}


def test_without_a_script_everything_is_shown(browser, agreement):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(agreement.as_uri())
    assert page.locator(".controls").is_hidden()
    assert page.locator(".image").first.is_visible()
    assert page.locator("button").count() == 0
    context.close()


def test_a_folder_of_a_thousand_images_opens_in_two_seconds(opened, split):
    page = opened(split / "index.html")
    (milliseconds,) = page.evaluate(
        "performance.getEntriesByType('navigation').map((each) => each.duration)"
    )
    assert milliseconds < 2000
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
    assert image.evaluate("(image) => Math.abs(image.getBoundingClientRect().top) < 120")
    assert image.locator(".shape").count() == 2
    page.uncheck(".controls [name=annotator][value='1']")
    assert image.locator(".shape:not(.off)").count() == 1
    page.get_by_role("link", name="Back to the result").click()
    page.wait_for_url("**/index.html#images")
    assert page.complaints == []


def test_tiles_are_found_and_sorted(opened, split):
    page = opened(split / "index.html")
    shown = page.locator(".tile:not([hidden])")
    page.fill("[name=find]", "0007")
    assert shown.evaluate_all("(all) => all.map((each) => each.dataset.name)") == ["0007.png"]
    page.fill("[name=find]", "")
    page.check("[name=kind][value='class conflict']")
    assert page.inner_text("output") == "334 of 1,000 images shown"
    page.uncheck("[name=kind][value='class conflict']")
    page.select_option("[name=order]", "name")
    assert shown.nth(1).get_attribute("data-name") == "0001.png"
    page.select_option("[name=category]", "0")
    # Where both chose the other category, it is not among the images.
    assert page.inner_text("output") == "667 of 1,000 images shown"


def test_without_a_script_tiles_lead_to_their_pages(browser, split):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((split / "index.html").as_uri())
    assert page.locator(".controls").is_hidden()
    page.locator(".tile a").nth(60).click()
    page.wait_for_url("**/images-2.html#image-61")
    assert page.locator("#image-61 .shape").first.is_visible()
    context.close()


def test_figures_and_charts_can_be_read_on_a_phone(browser, agreement):
    context = browser.new_context(viewport={"width": 390, "height": 800}, offline=True)
    page = context.new_page()
    page.goto(agreement.as_uri())
    sizes = page.locator(".wide .chart text").evaluate_all(
        "(all) => all.map((text) => parseFloat(getComputedStyle(text).fontSize)"
        " * Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b))"
    )
    assert min(sizes) > 7
    ends = page.locator("[data-name=Figures] td").evaluate_all(
        "(all) => all.map((cell) => cell.getBoundingClientRect().right)"
    )
    assert max(ends) <= 390
    context.close()


def test_cells_of_ten_annotators_can_be_read_on_a_phone(browser, crowd_of_ten):
    context = browser.new_context(viewport={"width": 390, "height": 800}, offline=True)
    page = context.new_page()
    page.goto(crowd_of_ten.as_uri())
    cells = page.locator("#annotators figure text").filter(has_text=re.compile(r"^\d\.\d\d$"))
    sizes = cells.evaluate_all(
        "(all) => all.map((text) => parseFloat(getComputedStyle(text).fontSize)"
        " * Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b))"
    )
    assert len(sizes) == 90
    assert min(sizes) > 9
    frame = page.locator("#annotators .wide").first
    assert frame.evaluate("(each) => each.scrollWidth <= each.clientWidth")
    context.close()


def test_a_link_of_the_story_opens_its_table(browser, crowd_of_ten):
    """More annotators move their boxes than the story names."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    page.goto(crowd_of_ten.as_uri())
    link = page.locator(".story a").first
    assert "1 more stands out" in link.locator("..").inner_text()
    table = page.locator(link.get_attribute("href"))
    assert not table.is_visible()
    link.click()
    assert table.is_visible()
    context.close()


@pytest.mark.parametrize("width", [390, 1400])
def test_tables_that_are_cut_say_that_they_scroll(browser, agreement, width):
    context = browser.new_context(viewport={"width": width, "height": 800}, offline=True)
    page = context.new_page()
    page.goto(agreement.as_uri())
    page.locator("details.data").evaluate_all("(all) => all.forEach((each) => each.open = true)")
    page.evaluate("() => new Promise((done) => setTimeout(done, 100))")
    found = page.locator(".scroll").evaluate_all(
        "(all) => all.map((frame) => [frame.scrollWidth > frame.clientWidth + 1,"
        " getComputedStyle(frame, '::before').content.includes('scroll sideways')])"
    )
    assert {cut for cut, _ in found} == {True, False}
    assert all(cut == told for cut, told in found)
    context.close()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("agreement", ".chart, [data-name=Figures] td, [data-name=Files] :is(th, td)"),
        (
            "findings",
            "[data-name=Content] :is(th, td), .rules td, .places td, [data-name=Files] :is(th, td)",
        ),
        ("batch", ".projects td"),
    ],
)
def test_what_matters_can_be_seen_on_a_phone_without_scrolling(name, shown, browser, request):
    path = request.getfixturevalue(name)
    context = browser.new_context(viewport={"width": 390, "height": 800}, offline=True)
    page = context.new_page()
    page.goto(path.as_uri())
    boxes = [each.bounding_box() for each in page.locator(shown).all() if each.is_visible()]
    inner = [each.bounding_box() for each in page.locator(".places td:nth-child(3)").all()]
    context.close()
    assert boxes
    assert [box for box in boxes if box["x"] + box["width"] > 390] == []
    # Messages have the whole width.
    assert [box for box in inner if box["width"] < 340] == []


def test_options_of_a_command_are_not_broken_after_their_hyphens(browser, tmp_path):
    data = ROOT / "tests/data/simulated.json"
    options = ("--category-lenient", "--bootstrap", "40", "--min-alpha", "0.5", "--top", "1")
    done = run("agree", data, *options, "--report", tmp_path / "page.html")
    assert done.returncode in (0, 1), done.stderr
    context = browser.new_context(viewport={"width": 390, "height": 800}, offline=True)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    lines = page.locator("pre .whole").evaluate_all(
        "(all) => all.map((each) => [each.textContent, each.getClientRects().length])"
    )
    command = page.locator("pre").text_content()
    shown = page.locator("#images output").text_content()
    context.close()
    assert ["--bootstrap", 1] in lines
    assert {n for _, n in lines} == {1}
    assert command.startswith("bboxqa agree ")
    assert "--bootstrap 40" in command
    assert shown == "1 of 1 image shown"


def test_messages_are_seen_beside_long_paths_on_a_tablet(browser, tmp_path):
    records = [annotation(n, bbox=(10 * n, 10, 20, 0)) for n in range(1, 3)]
    path = write(tmp_path / f"{'long' * 20}.json", document(records))
    assert run("validate", path, "--report", tmp_path / "findings.html").returncode == 1
    context = browser.new_context(viewport={"width": 800, "height": 800}, offline=True)
    page = context.new_page()
    page.goto((tmp_path / "findings.html").as_uri())
    beyond = page.locator(".scroll:has(.places)").evaluate_all(
        "(all) => all.filter((each) => each.scrollWidth > each.clientWidth).length"
    )
    context.close()
    assert beyond == 0


def test_notes_of_a_batch_are_seen_beside_long_paths(browser, batch):
    context = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True)
    page = context.new_page()
    page.goto(batch.as_uri())
    page.locator(".projects tbody td:last-child").first.evaluate(
        "(note) => { note.textContent = 'a/very_long_path'.repeat(20); }"
    )
    hidden = page.locator(".scroll.all").evaluate("(each) => each.scrollWidth - each.clientWidth")
    context.close()
    assert hidden == 0


@pytest.mark.parametrize("name", ["hostile", "batch"])
def test_all_stays_on_the_paper(name, browser, request):
    context = browser.new_context(viewport={"width": 680, "height": 900}, offline=True)
    page = context.new_page()
    page.goto(request.getfixturevalue(name).as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.emulate_media(media="print")
    ends = page.locator("main *:not(svg *)").evaluate_all(
        "(all) => all.map((each) => [each.getBoundingClientRect().right, each.outerHTML])"
    )
    context.close()
    assert [html[:80] for end, html in ends if end > 681] == []


def test_a_page_on_narrow_paper_is_not_that_of_a_phone(browser, agreement):
    context = browser.new_context(viewport={"width": 680, "height": 900}, offline=True)
    page = context.new_page()
    page.goto(agreement.as_uri())
    page.emulate_media(media="print")
    clipping = page.locator(".wide").evaluate_all(
        "(all) => all.filter((each) => getComputedStyle(each).overflowX === 'auto').length"
    )
    rows = page.locator("[data-name=Figures] tbody tr").evaluate_all(
        "(all) => all.map((row) => getComputedStyle(row).display)"
    )
    context.close()
    assert clipping == 0
    assert set(rows) == {"table-row"}


def test_paper_has_no_page_without_pictures_below_a_title(browser, tmp_path):
    """A list longer than a sheet begins beside its picture, and nothing has to be opened."""
    images = [{"id": 1, "file_name": "1.png", "width": 600, "height": 600}]
    records = [
        {
            "id": 2 * n + a, "image_id": 1, "category_id": 1, "annotator": f"p{a}",
            "bbox": [60 * (n % 10) + 25 * a, 60 * (n // 10), 20, 20],
        }
        for n in range(80) for a in range(2)
    ]  # fmt: skip
    categories = [{"id": 1, "name": "cow"}]
    data = {"images": images, "categories": categories, "annotations": records}
    path = write(tmp_path / "long.json", data)
    done = run("agree", path, "--report", tmp_path / "long.html", "--bootstrap", "0")
    assert done.returncode == 0, done.stderr
    context = browser.new_context(viewport={"width": 680, "height": 900}, offline=True)
    page = context.new_page()
    page.goto((tmp_path / "long.html").as_uri())
    page.emulate_media(media="print")
    figure, reasons = (
        page.locator(f"#images {each}").bounding_box() for each in (".picture", ".reasons")
    )
    assert reasons["height"] > 1000
    assert reasons["x"] > figure["x"] + figure["width"]
    assert abs(reasons["y"] - figure["y"]) < 50
    # Grids are not broken between sheets.
    styles = page.locator(".beside").evaluate_all(
        "(all) => all.map((e) => getComputedStyle(e).display)"
    )
    assert set(styles) == {"flow-root"}
    assert page.locator("details.data:visible").count() == 0
    context.close()


def test_the_table_of_a_batch_is_copied_without_its_links(browser, batch):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    page.goto(batch.as_uri())
    with page.expect_download() as download:
        page.locator("button", has_text="Save as csv").first.click()
    first, *rows = download.value.path().read_text("utf-8").splitlines()
    context.close()
    assert first.startswith("Project,Status,Alpha")
    assert sorted(row.partition(",")[0] for row in rows) == ["one", "two"]
