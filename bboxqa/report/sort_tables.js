for (const head of document.querySelectorAll("th")) {
  const button = document.createElement("button");
  button.append(...head.childNodes);
  head.append(button);
  button.onclick = () => {
    const body = head.closest("table").tBodies[0];
    const sign = head.ariaSort === "ascending" ? -1 : 1;
    const keys = new Map([...body.rows].map((row) => {
      const text = row.cells[head.cellIndex].textContent;
      return [row, head.className === "number" ? parseFloat(text.replaceAll(",", "")) : text];
    }));
    const isBlank = (row) => keys.get(row) === "" || Number.isNaN(keys.get(row));
    const compare = (a, b) => sign * ((keys.get(a) > keys.get(b)) - (keys.get(a) < keys.get(b)));
    body.append(...[...keys.keys()].sort((a, b) => isBlank(a) - isBlank(b) || compare(a, b)));
    for (const other of head.parentNode.cells) other.ariaSort = null;
    head.ariaSort = sign > 0 ? "ascending" : "descending";
  };
}
