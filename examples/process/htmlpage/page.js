"use strict";
// Draws the plots of the page with uPlot, and keeps one cursor for them and the
// timelines. The values are in #data; their shape is that of type data in view.go.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const home = document.getElementById("plots");
  const readout = document.getElementById("readout");
  const lists = data.runs.map((_, i) => document.getElementById("timeline-" + i));
  const times = lists.map((list) => [...list.querySelectorAll("li[data-at]")].map((li) => Number(li.dataset.at)));
  const end = Math.max(data.duration, 1);
  const printedWidth = 680;

  let charts = [];
  let cursor = null; // in seconds, null while there is none
  let range = [0, end];

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

  function clock(seconds) {
    const s = Math.round(seconds), two = (n) => String(n).padStart(2, "0");
    return Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
  }

  // lastUpTo returns the index of the last time that is not after t, -1 if none.
  function lastUpTo(list, t) {
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] <= t) low = middle + 1; else high = middle;
    }
    return low - 1;
  }

  // valueAt returns what a line of a run shows at a time.
  function valueAt(line, run, t) {
    const i = lastUpTo(data.at[run], t);
    const values = line.values[run] || [];
    return i < 0 || i >= values.length || t > data.at[run][data.at[run].length - 1] ? null : values[i];
  }

  const nameOf = (line, run) => data.runs[run] ? line.name + ", " + data.runs[run] : line.name;

  // table returns the values of a plot as uPlot has them: runs on one axis.
  function table(plot) {
    const runs = data.at.map((at, run) =>
      [at, ...plot.lines.map((line) => (line.values[run] || []).length ? line.values[run] : at.map(() => null))]);
    return runs.length === 1 ? runs[0] : uPlot.join(runs);
  }

  const incrs = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 604800];

  function draw(plot, place, width) {
    const series = [{ label: "time", value: (_, v) => v === null || v === undefined ? "--:--" : clock(v) }];
    data.at.forEach((_, run) => plot.lines.forEach((line) => series.push({
      label: nameOf(line, run), stroke: color(line.color), width: 1.5, dash: run ? [6, 4] : undefined, spanGaps: true,
      // A state holds from its point on, what happened did so up to its point.
      paths: uPlot.paths.stepped({ align: line.state ? 1 : -1 }), points: { show: false },
      value: (u) => { // that at the cursor; uPlot would take the nearest that there is
        const i = u.cursor.idx, shown = i === null || i === undefined ? null : valueAt(line, run, u.data[0][i]);
        return shown === null ? "--" : shown;
      },
    })));
    const axis = { stroke: color("faint"), grid: { stroke: color("grid"), width: 1 }, ticks: { stroke: color("grid") } };
    const u = new uPlot({
      width, height: 190, series,
      scales: { x: { time: false, range: (_, min, max) => [min ?? 0, max ?? end] },
        y: { range: (_, min, max) => [0, Math.max(1, max || 0) * 1.05] } },
      axes: [{ ...axis, incrs, values: (_, splits) => splits.map(clock), space: 70 },
        { ...axis, size: 55, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6] }],
      // A run's swatches are as its lines.
      legend: { markers: { width: 3, dash: (_, i) => i > plot.lines.length ? "dashed" : "solid" } },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false }, bind: { dblclick: () => null } },
      // uPlot tells of scales later, also of those that the page has set.
      hooks: { setScale: [(u, key) => {
        const { min, max } = u.scales.x;
        if (key === "x" && min !== null && (min !== range[0] || max !== range[1])) zoom(min, max);
      }] },
    }, table(plot), place);
    const follow = (event) => move(u.posToVal(event.clientX - u.over.getBoundingClientRect().left, "x"), u);
    u.over.addEventListener("pointermove", follow);
    u.over.addEventListener("pointerdown", follow);
    return u;
  }

  // move puts the cursor of all plots and timelines to a time.
  function move(t, from, list) {
    cursor = Math.min(Math.max(t, 0), end);
    for (const { u } of charts) {
      if (u === from) continue;
      const left = u.valToPos(cursor, "x");
      u.setCursor(left < 0 || left > u.over.clientWidth ? { left: -10, top: -10 } : { left, top: 1 });
    }
    lists.forEach((ol, i) => mark(ol, lastUpTo(times[i], cursor), ol !== list));
  }

  function mark(ol, index) {
    const items = ol.querySelectorAll("li[data-at]"), was = ol.querySelector("[aria-current]");
    if (was && was !== items[index]) was.removeAttribute("aria-current");
    if (!items[index]) return;
    items[index].setAttribute("aria-current", "true");
    const top = items[index].offsetTop, bottom = top + items[index].offsetHeight;
    if (top < ol.scrollTop || bottom > ol.scrollTop + ol.clientHeight) ol.scrollTop = top - ol.clientHeight / 2;
  }

  // say reads out what a plot shows at the cursor, and what happened last.
  function say(plot) {
    const parts = [clock(cursor)];
    if (plot) {
      parts.push(plot.title + ": " + data.runs.map((_, run) => plot.lines.map((line) => {
        const value = valueAt(line, run, cursor);
        return nameOf(line, run) + " " + (value === null ? "unknown" : value);
      }).join("; ")).join("; "));
    }
    lists.forEach((ol, i) => {
      const li = ol.querySelector("[aria-current]");
      if (li) parts.push("Last" + (data.runs[i] ? ", " + data.runs[i] : "") + ": " + li.textContent.replace(/\s+/g, " ").trim());
    });
    readout.textContent = parts.join(". ");
  }

  // zoom shows the same time in all plots, two seconds at least.
  function zoom(from, to) {
    range = [Math.max(0, from), Math.min(end, to)];
    if (range[1] - range[0] < 2) range = [Math.max(0, range[0] - 1), Math.min(end, range[1] + 1)];
    for (const { u } of charts) u.setScale("x", { min: range[0], max: range[1] });
    if (cursor !== null) setTimeout(() => move(cursor)); // once the scales are set
  }

  function zoomBy(factor) {
    const middle = cursor === null ? (range[0] + range[1]) / 2 : cursor, half = (range[1] - range[0]) * factor / 2;
    zoom(middle - half, middle + half);
  }

  // step returns the time of the next point of any run, or of the one before.
  function step(direction) {
    const t = cursor === null ? (direction > 0 ? -1 : end + 1) : cursor;
    const next = data.at.map((at) => {
      const i = lastUpTo(at, t);
      return direction > 0 ? at[i + 1] : i >= 0 && at[i] < t ? at[i] : at[i - 1];
    }).filter((v) => v !== undefined);
    if (!next.length) return t;
    return direction > 0 ? Math.min(...next) : Math.max(...next);
  }

  function onKey(event, plot) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const tenth = (range[1] - range[0]) / 10, at = cursor === null ? range[0] : cursor;
    const actions = {
      ArrowLeft: () => move(step(-1)), ArrowRight: () => move(step(1)),
      PageDown: () => move(at + tenth), PageUp: () => move(at - tenth),
      Home: () => move(range[0]), End: () => move(range[1]),
      "+": () => zoomBy(0.5), "=": () => zoomBy(0.5), "-": () => zoomBy(2), Escape: () => zoom(0, end),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
    if (cursor === null) move(at);
    if (cursor < range[0] || cursor > range[1]) {
      const width = range[1] - range[0], from = Math.min(Math.max(cursor - width / 2, 0), end - width);
      zoom(from, from + width);
    }
    say(plot);
  }

  function onListKey(event, ol, own) {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp" || !own.length) return;
    event.preventDefault();
    const items = [...ol.querySelectorAll("li[data-at]")], was = items.findIndex((li) => li.hasAttribute("aria-current"));
    const next = Math.min(Math.max(was + (event.key === "ArrowDown" ? 1 : -1), 0), items.length - 1);
    choose(ol, own, next);
  }

  // choose moves the cursor to a line. Of several at one time it marks that one.
  function choose(ol, own, index) {
    move(own[index]);
    mark(ol, index);
    say(null);
  }

  function build(width) {
    const hidden = charts.map(({ u }) => u.series.map((s) => !s.show));
    for (const { u } of charts) u.destroy();
    charts = data.plots.map((plot, n) => {
      const place = home.querySelector("#plot-" + n);
      const u = draw(plot, place, width || place.clientWidth || printedWidth);
      (hidden[n] || []).forEach((hide, i) => { if (i && hide) u.setSeries(i, { show: false }); });
      u.root.querySelectorAll(".u-legend .u-series th").forEach((th, i) => {
        if (!i) return; // the time
        th.tabIndex = 0;
        th.setAttribute("role", "button");
        const pressed = () => th.setAttribute("aria-pressed", String(u.series[i].show));
        pressed();
        th.addEventListener("click", () => setTimeout(pressed));
        th.addEventListener("keydown", (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          event.stopPropagation();
          u.setSeries(i, { show: !u.series[i].show });
          pressed();
        });
      });
      u.setScale("x", { min: range[0], max: range[1] });
      return { u, place };
    });
    if (cursor !== null) setTimeout(() => move(cursor));
  }

  data.plots.forEach((plot, n) => {
    const title = document.createElement("h3"), place = document.createElement("div");
    title.id = "plot-title-" + n;
    title.textContent = plot.title;
    Object.assign(place, { id: "plot-" + n, className: "plot", tabIndex: 0 });
    for (const [key, value] of Object.entries({ role: "application", "aria-roledescription": "plot",
      "aria-labelledby": title.id, "aria-describedby": "keys" })) place.setAttribute(key, value);
    place.addEventListener("keydown", (event) => onKey(event, plot));
    place.addEventListener("dblclick", () => zoom(0, end));
    place.addEventListener("click", () => { if (cursor !== null) say(plot); });
    home.append(title, place);
  });
  if (data.left) {
    const note = document.createElement("p");
    note.textContent = data.left;
    home.append(note);
  }
  lists.forEach((ol, i) => {
    ol.addEventListener("keydown", (event) => onListKey(event, ol, times[i]));
    ol.addEventListener("click", (event) => {
      const li = event.target.closest("li[data-at]");
      if (li) choose(ol, times[i], [...ol.querySelectorAll("li[data-at]")].indexOf(li));
    });
  });
  build();

  let drawnWidth = home.clientWidth;
  new ResizeObserver(() => {
    if (home.clientWidth === drawnWidth || document.documentElement.dataset.theme) return;
    drawnWidth = home.clientWidth;
    build();
  }).observe(home);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => build());
  addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; build(printedWidth); });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.theme; build(); });
  document.documentElement.dataset.drawn = String(charts.length);
})();
