// The chart of a query's answer: draws what the selects above it choose, from the columns that the answer holds.
"use strict";

(function () {
  const MOST_SERIES = 8;

  function distinct(values) {
    return [...new Set(values)];
  }

  /** x values in order: times and numbers ascending, names as they came. */
  function places(column) {
    const found = distinct(column.values);
    return column.kind === "text" ? found : found.filter((v) => v !== null).sort((a, b) => a - b);
  }

  /** Do several rows stand at one place of one line, so that only the first of them is drawn? */
  function repeats(data, form) {
    const by = form.split.value === "" ? null : data.columns[form.split.value].values;
    const rows = data.columns[form.x.value].values.map((x, i) => JSON.stringify([x, by && by[i]]));
    return distinct(rows).length < rows.length;
  }

  function series(name, xs, column, values, keep) {
    const at = new Map();
    column.values.forEach((x, i) => {
      if (keep(i) && !at.has(x)) at.set(x, values[i]);
    });
    return { name, values: xs.map((x) => (at.has(x) ? at.get(x) : null)) };
  }

  function chosen(data, form) {
    const x = data.columns[form.x.value];
    const xs = places(x);
    const value = form.value.value;
    const numbers = value === "all" ? data.choice.values : [Number(value)];
    let found;
    if (form.split.value === "") {
      found = numbers.map((i) => series(data.columns[i].name, xs, x, data.columns[i].values, () => true));
    } else {
      const by = data.columns[form.split.value];
      const column = data.columns[numbers[0]];
      found = distinct(by.values)
        .slice(0, MOST_SERIES)
        .map((name) => series(name === null ? "null" : String(name), xs, x, column.values, (i) => by.values[i] === name));
    }
    return { kind: form.kind.value, x: { kind: x.kind === "number" ? "text" : x.kind, values: xs }, series: found };
  }

  function label(data) {
    const names = data.series.map((s) => s.name).slice(0, 3).join(", ");
    return `${data.kind === "line" ? "Line" : "Bar"} chart of ${names}; ${data.x.values.length} places. The table below holds the values.`;
  }

  function setUp(box) {
    if (box.dataset.ready) return;
    box.dataset.ready = "yes";
    const data = JSON.parse(document.getElementById(box.dataset.queryChart).textContent);
    const form = box.querySelector("form").elements;
    const figure = box.querySelector("figure");
    const draw = () => {
      if (!box.open) return;
      const shown = chosen(data, form);
      figure.querySelector("canvas").setAttribute("aria-label", label(shown));
      box.querySelector("[data-cut]").hidden = form.split.value === "" || distinct(data.columns[form.split.value].values).length <= MOST_SERIES;
      box.querySelector("[data-repeats]").hidden = !repeats(data, form);
      window.pinotadminCharts.draw(figure, shown);
    };
    box.addEventListener("change", draw);
    box.addEventListener("toggle", draw);
    box.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
    draw();
  }

  function setUpAll() {
    document.querySelectorAll("details[data-query-chart]").forEach(setUp);
  }

  document.addEventListener("DOMContentLoaded", setUpAll);
  document.addEventListener("htmx:afterSettle", setUpAll);
})();
