// Comfort for a page that says everything without it: read-outs that follow the pointer, sorting, and the theme.
"use strict";
(() => {
  const make = (tag, attributes, text) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const figures = new Intl.NumberFormat("en");

  // The theme: what the system says, until somebody asks for the other.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const button = make("button", { type: "button", class: "theme" });
  const name = () => { button.textContent = isDark() ? "Light page" : "Dark page"; };
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  dark.addEventListener("change", name);
  name();
  document.querySelector("header").append(button);

  // The read-out of a course follows the pointer on its charts, and a slider.
  const words = (layers, column) => {
    const [from, to, fullest, tokens, [read, written, fresh], spent, marks] = column;
    const all = tokens.reduce((sum, one) => sum + one, 0);
    const parts = tokens.map((one, at) => [one, layers[at]]).filter(([one]) => one > 0).sort((a, b) => b[0] - a[0]);
    const prompt = read + written + fresh;
    const share = prompt > 0 ? `${(100 * read / prompt).toFixed(1)} % from the cache` : "nothing sent";
    const list = parts.map(([one, layer]) => `${layer} ${figures.format(one)}`).join(", ");
    const head = `Request ${figures.format(fullest)}`;
    const among = to > from ? ` (largest of ${figures.format(from)}–${figures.format(to)})` : "";
    const tail = `${among}: ${figures.format(all)} tokens (${list}) · ${share} · ${spent} so far${marks ? ` · ${marks}` : ""}`;
    return [head, tail];
  };
  for (const source of document.querySelectorAll("script.steps")) {
    const { layers, columns } = JSON.parse(source.textContent);
    const course = source.closest(".course");
    const follow = course.querySelector(".follow");
    if (!follow || columns.length === 0) continue;
    const out = follow.querySelector(".readout");
    const plots = [...course.querySelectorAll("svg.plot")];
    const crosses = plots.map((plot) => {
      const cross = document.createElementNS("http://www.w3.org/2000/svg", "line");
      for (const [name, value] of [["class", "cross"], ["y1", "0"], ["y2", "100%"], ["visibility", "hidden"]]) cross.setAttribute(name, value);
      plot.append(cross);
      return cross;
    });
    const slider = make("input", { type: "range", min: "0", max: String(columns.length - 1), step: "1" });
    let fullest = 0;
    const total = (column) => column[3].reduce((sum, one) => sum + one, 0);
    columns.forEach((column, at) => { if (total(column) > total(columns[fullest])) fullest = at; });
    slider.value = String(fullest);
    const show = (at) => {
      const [head, tail] = words(layers, columns[at]);
      out.replaceChildren(make("strong", {}, head), tail);
      const x = `${(100 * (at + 0.5) / columns.length).toFixed(3)}%`;
      for (const cross of crosses) {
        cross.setAttribute("x1", x);
        cross.setAttribute("x2", x);
        cross.setAttribute("visibility", "visible");
      }
      slider.setAttribute("aria-valuetext", head + tail);
    };
    slider.addEventListener("input", () => show(Number(slider.value)));
    for (const plot of plots) {
      const move = (event) => {
        const box = plot.getBoundingClientRect();
        const share = (event.clientX - box.left) / Math.max(box.width, 1);
        const at = Math.min(columns.length - 1, Math.max(0, Math.floor(share * columns.length)));
        slider.value = String(at);
        show(at);
      };
      plot.addEventListener("pointermove", move);
      plot.addEventListener("pointerdown", move);
    }
    const label = make("label", {}, "Step through");
    label.append(slider);
    follow.append(label);
  }

  // Tables sort by their headings.
  for (const table of document.querySelectorAll("table")) {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 2) continue;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if ([...body.rows].every((row) => row.cells[column] && row.cells[column].querySelector("svg.bar"))) return;
      const sort = make("button", { type: "button" }, head.textContent);
      sort.addEventListener("click", () => {
        const isFigure = body.rows[0].cells[column].dataset.value !== undefined;
        const first = isFigure && column > 0 ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const order = head.getAttribute("aria-sort") === first ? other : first;
        for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const key = (row) => (isFigure ? Number(row.cells[column].dataset.value) : row.cells[column].textContent);
        const compare = (a, b) => (isFigure ? key(a) - key(b) : key(a).localeCompare(key(b), "en"));
        body.append(...[...body.rows].sort((a, b) => sign * compare(a, b)));
      });
      head.replaceChildren(sort);
    });
  }
})();
