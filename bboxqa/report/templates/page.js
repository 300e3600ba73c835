
"use strict";

// Tables: a click on a title sorts; the whole table can be copied or saved.
// What a cell holds, where it shows it rounded, with commas or as a dash.
function cellText(cell) {
  return cell.dataset.value ?? cell.textContent.trim();
}

function sortBy(head) {
  const body = head.closest("table").tBodies[0];
  const sign = head.ariaSort === "ascending" ? -1 : 1;
  const isNumber = head.classList.contains("number");
  const keys = new Map([...body.rows].map((row) => {
    const text = cellText(row.cells[head.cellIndex]);
    return [row, isNumber ? parseFloat(text.replaceAll(",", "")) : text];
  }));
  const isBlank = (row) => keys.get(row) === "" || Number.isNaN(keys.get(row));
  const compare = (a, b) => sign * ((keys.get(a) > keys.get(b)) - (keys.get(a) < keys.get(b)));
  body.append(...[...keys.keys()].sort((a, b) => isBlank(a) - isBlank(b) || compare(a, b)));
  for (const other of head.parentNode.cells) other.ariaSort = null;
  head.ariaSort = sign > 0 ? "ascending" : "descending";
}

function csv(table) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  // A spreadsheet runs what begins with such a sign, unless it is a number.
  const safe = (text) => (/^[=+\-@\t]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text);
  return [...table.rows]
    .map((row) => [...row.cells].map((cell) => quoted(safe(cellText(cell)))).join(","))
    .join("\n");
}

function tool(text, action) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tool";
  button.textContent = text;
  button.onclick = () => action(button);
  return button;
}

function addTools(table) {
  const bar = document.createElement("div");
  bar.className = "tools";
  const name = table.dataset.name ?? document.title;
  bar.append(
    tool("Copy", async (button) => {
      try {
        await navigator.clipboard.writeText(csv(table));
        button.textContent = "Copied";
      } catch {
        button.textContent = "The browser does not allow it";
      }
    }),
    tool("Save as csv", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv" }));
      link.download = `${name.toLowerCase().replaceAll(" ", "_")}.csv`;
      link.click();
      URL.revokeObjectURL(link.href);
    }),
  );
  (table.closest(".scroll") ?? table).before(bar);
}

for (const table of document.querySelectorAll("table")) {
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => sortBy(head);
  }
  if (table.dataset.name) addTools(table);
}

// A table that is wider than the page says so: phones show no scroll bars.
const widths = new ResizeObserver((changes) => {
  for (const { target } of changes) {
    const frame = target.closest(".scroll");
    frame.classList.toggle("overflowing", frame.scrollWidth > frame.clientWidth + 1);
  }
});
for (const frame of document.querySelectorAll(".scroll")) {
  widths.observe(frame);
  for (const table of frame.children) widths.observe(table);
}

// Pictures: an object and its line in the list are marked together.
function light(article, number) {
  for (const each of article.querySelectorAll("[data-object]")) {
    each.classList.toggle("lit", each.dataset.object === number);
  }
  article.querySelector(".picture").classList.toggle("lit", number !== null);
}

for (const article of document.querySelectorAll(".image")) {
  const numberAt = (event) => event.target.closest("[data-object]")?.dataset.object ?? null;
  article.addEventListener("mouseover", (event) => light(article, numberAt(event)));
  article.addEventListener("mouseleave", () => light(article, null));
  article.addEventListener("focusin", (event) => light(article, numberAt(event)));
  article.addEventListener("focusout", () => light(article, null));
  for (const line of article.querySelectorAll("li[data-object]")) line.tabIndex = 0;
}

const counted = (number) => number.toLocaleString("en");

// Lists that are sorted and searched by the form above them; the first order is that of the page.
// filter() returns whether an item is shown.
function arrange(form, list, noun, orders, filter) {
  const items = [...list.children];
  const { order, find } = form.elements;
  const [{ value: first }] = order.options;
  let current = first;

  const update = () => {
    const text = find.value.toLowerCase();
    const isShown = filter();
    let shown = 0;
    for (const item of items) {
      item.hidden = !isShown(item) || !item.dataset.name.toLowerCase().includes(text);
      shown += !item.hidden;
    }
    if (order.value !== current) {
      current = order.value;
      list.append(...(current === first ? items : items.toSorted(orders[current])));
    }
    const things = items.length === 1 ? noun : `${noun}s`;
    form.querySelector("output").value = `${counted(shown)} of ${counted(items.length)} ${things} shown`;
  };

  form.hidden = false;
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  update();
}

// Items without a number come last.
const valueOf = (item, key, blank) => (item.dataset[key] === "" ? blank : Number(item.dataset[key]));
const lowest = (key) => (a, b) => valueOf(a, key, 9) - valueOf(b, key, 9);
const byName = (a, b) => a.dataset.name.localeCompare(b.dataset.name);

// Images: which annotators and categories are drawn on them.
const controls = document.querySelector("#images .controls");
if (controls) {
  const list = document.querySelector(".images");
  const chosen = (name) => [...controls.querySelectorAll(`[name=${name}]:checked`)].map((each) => each.value);
  const filter = () => {
    const annotators = new Set(chosen("annotator"));
    const kinds = chosen("kind");
    const category = controls.elements.category.value;
    return (image) => {
      const own = image.dataset.kinds.split("|");
      const shapes = [...image.querySelectorAll(".shape")];
      for (const shape of shapes) {
        const isOff = !annotators.has(shape.dataset.annotator) || (category !== "" && shape.dataset.category !== category);
        shape.classList.toggle("off", isOff);
      }
      const drawn = new Set(shapes.filter((shape) => !shape.classList.contains("off")).map((shape) => shape.dataset.object));
      for (const label of image.querySelectorAll(".numbers text")) label.classList.toggle("off", !drawn.has(label.dataset.object));
      return (kinds.length === 0 || kinds.some((kind) => own.includes(kind)))
        && (category === "" || image.dataset.categories.split("|").includes(category));
    };
  };
  const all = controls.querySelector("[name=all]");
  all?.addEventListener("input", () => {
    for (const box of controls.querySelectorAll("[name=annotator]")) box.checked = all.checked;
  });
  arrange(controls, list, "image", { alpha: lowest("alpha"), f1: lowest("f1"), name: byName }, filter);

  document.addEventListener("keydown", (event) => {
    const step = { j: 1, k: -1 }[event.key];
    const isTyping = event.target.closest?.("input[type=search], select, textarea");
    if (!step || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const visible = [...list.querySelectorAll(".image:not([hidden])")];
    const tops = visible.map((image) => image.getBoundingClientRect().top - 60);
    const next = step > 0 ? tops.findIndex((top) => top > 5) : tops.findLastIndex((top) => top < -5);
    if (next < 0) return;
    visible[next].scrollIntoView();
    const title = visible[next].querySelector("h3");
    title.tabIndex = -1;
    title.focus({ preventScroll: true });
  });
}
