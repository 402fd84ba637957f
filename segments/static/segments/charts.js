// Draws <figure data-chart="ID"> with Chart.js, which is fetched when the first one is on the page.
//
// The element ID holds the data as JSON text: a <script type="application/json">, or any hidden element
// (htmx drops scripts from what it swaps in):
//   {"kind": "line" | "bar", "unit": "rows", "stacked": false, "zero": true,       zero: the axis begins at 0
//    "x": {"kind": "time" | "text", "values": [1700000000000, ...] | ["AA", ...],   times in epoch milliseconds
//          "zone": "Europe/Berlin"},                                                in which they are written; else UTC
//    "series": [{"name": "lag", "values": [1, null, 3]}],                            null: no value, a gap
//    "marks": [{"x": 1700000000000, "text": "commit"}]}                              upright lines, optional
// The figure's canvas has role=img and a label; the page says the same in a table or in words.
"use strict";

(function () {
  const library = document.currentScript.dataset.library;
  const drawn = new WeakMap();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const MINUTE = 60_000;
  const HOUR = 60 * MINUTE;
  const DAY = 24 * HOUR;
  const STEPS = [1, 1000, 5000, 15_000, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR,
    DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 91 * DAY, 182 * DAY, 365 * DAY, 5 * 365 * DAY, 50 * 365 * DAY];
  // Distinct for people who do not see all colours; a ninth line and the following are dashed.
  const COLORS = {
    light: ["#8a2346", "#1c4fa3", "#17663c", "#b36b00", "#6b3fa0", "#00727a", "#5b5b6b", "#c2452d"],
    dark: ["#f19ab8", "#9cc0ff", "#7fd6a4", "#f1c071", "#c9a6f5", "#6fd3da", "#b6b6c6", "#ff9d7a"],
  };
  const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];
  let loading = null;

  function load() {
    if (!loading) {
      loading = new Promise((done, failed) => {
        const script = document.createElement("script");
        script.src = library;
        script.addEventListener("load", () => done(window.Chart));
        script.addEventListener("error", failed);
        document.head.append(script);
      });
    }
    return loading;
  }

  function token(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function pad(number) {
    return String(number).padStart(2, "0");
  }

  const zones = new Map();

  /** What a clock in the zone is ahead of UTC at that moment, in milliseconds. */
  function ahead(millis, zone) {
    if (!zone || zone === "UTC") return 0;
    try {
      if (!zones.has(zone)) {
        zones.set(zone, new Intl.DateTimeFormat("en-GB", { timeZone: zone, hourCycle: "h23", year: "numeric", month: "2-digit",
          day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" }));
      }
      const part = Object.fromEntries(zones.get(zone).formatToParts(new Date(millis)).map((p) => [p.type, Number(p.value)]));
      const wall = Date.UTC(part.year, part.month - 1, part.day, part.hour, part.minute, part.second);
      return wall - Math.floor(millis / 1000) * 1000;
    } catch {
      return 0; // A zone that this browser does not know.
    }
  }

  /** A moment, as fine as `step` (milliseconds between two of them) needs. */
  function timeText(millis, step, zone) {
    const at = new Date(millis + ahead(millis, zone));
    if (Number.isNaN(at.getTime())) return String(millis);
    const date = at.toISOString().slice(0, 10);
    const clock = `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}`;
    if (step >= DAY) return date;
    if (step >= MINUTE) return at.getUTCHours() || at.getUTCMinutes() ? clock : date;
    return `${clock}:${pad(at.getUTCSeconds())}`;
  }

  function whole(millis, zone) {
    const at = new Date(millis + ahead(millis, zone));
    if (Number.isNaN(at.getTime())) return String(millis);
    if (millis % DAY === 0 && !zone) return at.toISOString().slice(0, 10);
    return `${at.toISOString().slice(0, 19).replace("T", " ").replace(/:00$/, "")} ${zone || "UTC"}`;
  }

  function timeAxis(times, zone) {
    const from = Math.min(...times);
    const to = Math.max(...times);
    const step = STEPS.find((s) => (to - from) / s <= 8) || STEPS[STEPS.length - 1];
    return {
      type: "linear",
      min: from === to ? from - step : from,
      max: from === to ? to + step : to,
      afterBuildTicks(axis) {
        const ticks = [];
        const shift = ahead(from, zone);
        for (let at = Math.ceil((from + shift) / step) * step - shift; at <= to && ticks.length < 20; at += step) ticks.push({ value: at });
        axis.ticks = ticks.length ? ticks : [{ value: from }];
      },
      ticks: { callback: (value) => timeText(value, step, zone), maxRotation: 45 },
    };
  }

  /** Upright lines with their text at the top, for commits, pushes and the like. */
  const marks = {
    id: "marks",
    afterDatasetsDraw(chart, _, options) {
      const { ctx, chartArea, scales } = chart;
      ctx.save();
      ctx.strokeStyle = ctx.fillStyle = options.color;
      ctx.setLineDash([3, 3]);
      ctx.globalAlpha = 0.6;
      let written = -Infinity; // Where the last text ends: the next one must not cover it.
      for (const mark of options.list || []) {
        const x = scales.x.getPixelForValue(mark.x);
        if (!(x >= chartArea.left && x <= chartArea.right)) continue;
        ctx.beginPath();
        ctx.moveTo(x, chartArea.top);
        ctx.lineTo(x, chartArea.bottom);
        ctx.stroke();
        const width = ctx.measureText(mark.text).width;
        const left = Math.min(x + 3, chartArea.right - width);
        if (left < written + 6) continue;
        ctx.fillText(mark.text, left, chartArea.top + 10);
        written = left + width;
      }
      ctx.restore();
    },
  };

  function dataset(series, at, data) {
    const colors = dark.matches ? COLORS.dark : COLORS.light;
    const color = colors[at % colors.length];
    const isPairs = data.kind === "line" && data.x.kind === "time";
    return {
      label: series.name,
      data: isPairs ? series.values.map((y, i) => ({ x: data.x.values[i], y })) : series.values,
      borderColor: color,
      backgroundColor: color,
      borderWidth: data.kind === "line" ? 2 : 0,
      borderDash: DASHES[Math.floor(at / colors.length) % DASHES.length],
      pointRadius: series.values.length > 60 ? 0 : 2.5,
      pointHitRadius: 8,
      spanGaps: false,
    };
  }

  function labelsOf(data) {
    if (data.x.kind !== "time") return data.x.values.map((v) => (v === null ? "null" : String(v)));
    return data.x.values.map((v) => (v === null ? "null" : whole(v, data.x.zone)));
  }

  function shape(data) {
    const isTime = data.kind === "line" && data.x.kind === "time";
    const grid = { color: token("--line") };
    const ticks = { color: token("--muted") };
    const isWhole = data.series.every((s) => s.values.every((v) => v === null || Number.isInteger(Number(v))));
    const x = isTime ? timeAxis(data.x.values.filter((v) => v !== null), data.x.zone) : { type: "category" };
    return {
      type: data.kind === "line" ? "line" : "bar",
      data: { labels: labelsOf(data), datasets: data.series.map((s, at) => dataset(s, at, data)) },
      plugins: [marks],
      options: {
        responsive: true,
        maintainAspectRatio: false,
        animation: false,
        interaction: { mode: "nearest", axis: "x", intersect: false },
        font: { family: token("--sans") },
        scales: {
          x: { ...x, grid: { display: false }, border: grid, ticks: { ...ticks, ...x.ticks }, stacked: Boolean(data.stacked) },
          y: {
            beginAtZero: Boolean(data.zero) || data.kind !== "line", grid, border: { display: false }, stacked: Boolean(data.stacked),
            ticks: { ...ticks, precision: isWhole ? 0 : undefined, callback: (v) => Number(v).toLocaleString("en", { notation: Math.abs(v) >= 1e6 ? "compact" : "standard" }) },
            title: { display: Boolean(data.unit), text: data.unit || "", color: token("--muted") },
          },
        },
        plugins: {
          legend: { display: data.series.length > 1, labels: { color: token("--text"), boxWidth: 14, boxHeight: 2 } },
          tooltip: isTime ? { callbacks: { title: (items) => (items.length ? whole(items[0].parsed.x, data.x.zone) : "") } } : {},
          marks: { list: data.marks || [], color: token("--muted") },
        },
      },
    };
  }

  /** Draw, or draw again, a figure: with this data, else with that of the element it names. */
  async function draw(figure, given) {
    const canvas = figure.querySelector("canvas");
    const source = document.getElementById(figure.dataset.chart);
    if (!canvas || !(given || source)) return;
    try {
      const data = given || JSON.parse(source.textContent);
      const Chart = await load();
      if (drawn.has(canvas)) drawn.get(canvas).chart.destroy();
      drawn.set(canvas, { chart: new Chart(canvas, shape(data)), data });
      figure.dataset.drawn = "yes";
    } catch (error) {
      figure.hidden = true; // The table or the words next to it hold the same.
      console.warn("The chart could not be drawn.", error);
    }
  }

  function drawAll() {
    for (const figure of document.querySelectorAll("figure[data-chart]:not([data-drawn])")) draw(figure);
  }

  dark.addEventListener("change", () => {
    for (const figure of document.querySelectorAll("figure[data-drawn]")) {
      const known = drawn.get(figure.querySelector("canvas"));
      if (known) draw(figure, known.data);
    }
  });
  document.addEventListener("htmx:afterSettle", drawAll);
  document.addEventListener("DOMContentLoaded", drawAll);
  window.pinotadminCharts = { draw };
})();
