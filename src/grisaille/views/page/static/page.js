// What the page does by itself: it hears of news, draws the convergence, and keeps what is typed.
"use strict";

(function () {
  const study = document.getElementById("study");

  document.addEventListener("input", (event) => {
    if (event.target.id === "slider") {
      document.getElementById("moment").textContent = event.target.value;
    }
  });
  if (!study) return;

  // --- news: the number of the last event is the cursor, which the browser sends when it comes back.
  const address = study.dataset.address;
  if (study.dataset.live === "yes") {
    const source = new EventSource(`${address}/news?after=${study.dataset.position}`);
    source.onmessage = () => htmx.trigger(document.body, "news");
    source.onopen = () => away(false);
    source.onerror = () => away(true);
    addEventListener("pagehide", () => source.close());
  }

  function away(isAway) {
    const sentence = document.getElementById("connection");
    if (sentence) sentence.hidden = !isAway;
  }

  // --- what is being typed must not be swept away by news.
  document.body.addEventListener("htmx:beforeRequest", (event) => {
    const part = event.detail.elt;
    const byNews = event.detail.requestConfig.triggeringEvent?.type === "news";
    if (byNews && isPast()) event.preventDefault();
    if (byNews && isKept(part)) event.preventDefault();
    if (byNews && part.id === "answers-part" && !document.getElementById("answers").open) event.preventDefault();
    if (byNews && part.id === "log-part" && document.activeElement?.id === "slider") event.preventDefault();
  });

  // Somebody may have begun to type while the answer was on its way.
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const byNews = event.detail.requestConfig.triggeringEvent?.type === "news";
    if (byNews && isKept(event.detail.target)) event.detail.shouldSwap = false;
  });

  function isKept(part) {
    return ["queue-part", "answers-part", "explore-part"].includes(part.id) && isInUse(part);
  }

  function isPast() {
    return document.querySelector(".past") !== null;
  }

  function isInUse(part) {
    const fields = [...part.querySelectorAll("input, textarea")];
    const isTyped = fields.some((field) => field.type !== "hidden" && field.value !== field.defaultValue);
    const isOpen = part.querySelector("details[open]") !== null;
    const isChosen = [...part.querySelectorAll("option")].some((option) => option.selected && option.parentElement.querySelector("[selected]") && !option.defaultSelected);
    return isTyped || isOpen || isChosen || (part.contains(document.activeElement) && document.activeElement !== part);
  }

  // --- when a form is recorded, questions and answers are shown anew: other forms keep what was typed.
  let sent = null, typed = new Map();

  document.body.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.verb === "post") sent = keyOf(event.detail.elt);  // news may come in between
  });
  document.body.addEventListener("htmx:oobBeforeSwap", (event) => {
    for (const field of fieldsOf(event.detail.target)) {
      if (field.value !== field.defaultValue && keyOf(field.form) !== sent) typed.set(keyOf(field.form, field), field.value);
    }
  });
  document.body.addEventListener("htmx:oobAfterSwap", (event) => {
    for (const field of fieldsOf(event.detail.target)) {
      const value = typed.get(keyOf(field.form, field));
      if (value === undefined) continue;
      field.value = value;
      for (let box = field.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    }
    typed.clear();
  });

  function fieldsOf(part) {
    return [...part.querySelectorAll("form input, form textarea")].filter((field) => !["hidden", "file"].includes(field.type));
  }

  function keyOf(form, field) {
    return [form.getAttribute("action"), form.querySelector?.("[name=id]")?.value, field?.name].join(" ");
  }

  document.body.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id === "box") document.getElementById("box-title")?.focus();
    if (event.detail.target.id === "study") draw();
  });

  // --- convergence. The server's picture stays until the data are here.
  let plot = null;
  const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];

  document.body.addEventListener("news", () => { if (!isPast()) draw(); });
  document.addEventListener("change", (event) => {
    if (["over", "scale"].includes(event.target.id)) draw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
  let wide = 0;
  addEventListener("resize", () => {
    const place = document.getElementById("plot");
    if (place && Math.abs(place.clientWidth - wide) > 20) draw();
  });
  draw();

  async function draw() {
    const place = document.getElementById("plot");
    if (!place) {
      const empty = document.getElementById("convergence-part");
      if (empty && !isPast()) htmx.ajax("GET", `${address}/parts/convergence`, { target: empty, swap: "innerHTML" });
      return;
    }
    const over = document.getElementById("over").value, scale = document.getElementById("scale").value;
    let chart;
    try {
      const answer = await fetch(`${address}/convergence.json${place.dataset.query || "?"}&over=${over}&scale=${scale}`);
      if (!answer.ok) return;
      chart = await answer.json();
    } catch {
      return;  // the server is away
    }
    if (!document.contains(place)) return;
    document.querySelector(".controls").hidden = false;
    wide = place.clientWidth;
    if (chart) {
      place.replaceChildren();
      plot = new uPlot(options(place, chart), series(chart), place);
      place.setAttribute("role", "img");
      place.setAttribute("aria-label", chart.title);
    } else {
      place.textContent = "There is no gap yet.";
    }
  }

  // The style of each look; the server describes everything else.
  const LOOKS = {
    best: { stroke: "ink", width: 2.2 }, bound: { stroke: "mark", width: 1.6, dash: [6, 4] },
    initial: { stroke: "mark", fill: "ground" }, own: { stroke: "mark", fill: "ground" },
    infeasible: { stroke: "trouble" }, recommended: { stroke: "good", width: 2.5 },
    proof: { stroke: "ink", fill: "ink" }, guess: { stroke: "ink", fill: "ground" },
  };

  function look(mark) {
    const style = LOOKS[mark.look] || { stroke: "mark", fill: "mark" };
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    return { ...style, stroke: colour(style.stroke), fill: style.fill && colour(style.fill) };
  }

  function lined(chart) {
    return chart.marks.filter((mark) => mark.kind !== "Area");
  }

  function series(chart) {
    const marks = lined(chart), x = marks.map((mark) => mark.x).reduce((a, b) => (b.length > a.length ? b : a));
    return [x, ...marks.map((mark) => x.map((_, k) => mark.y[k] ?? null))];
  }

  function options(place, chart) {
    const page = getComputedStyle(document.documentElement);
    const colour = (name) => page.getPropertyValue(`--${name}`).trim();
    const axis = { stroke: colour("quiet"), grid: { stroke: colour("line"), width: 0.5 }, ticks: { stroke: colour("line") } };
    const shown = (self, v) => (v == null ? "–" : Number(v.toPrecision(8)).toString());
    const steps = uPlot.paths.stepped({ align: 1 }), marks = lined(chart), { low, high } = chart.y;
    const drawn = (mark) => ({ ...look(mark), fill: undefined, label: mark.label, value: shown, points: { show: false }, paths: mark.kind === "Line" ? steps : () => null });
    return {
      width: place.clientWidth,
      height: Math.max(240, Math.min(380, place.clientWidth * 0.45)),
      scales: { x: { time: false }, y: { distr: chart.y.is_logarithmic ? 3 : 1, range: () => [low, high] } },
      axes: [{ ...axis, label: chart.x.label, ...(chart.x.is_whole ? { incrs: WHOLE } : {}) }, { ...axis, label: chart.y.label, size: 70 }],
      series: [{ label: chart.x.label, value: shown }, ...marks.map(drawn)],
      hooks: {
        drawAxes: [(self) => chart.marks.filter((mark) => mark.kind === "Area").forEach((mark) => drawArea(self, mark, colour("band")))],
        draw: [(self) => marks.forEach((mark, k) => { if (mark.kind === "Points") drawMarks(self, k + 1, mark); })],
      },
    };
  }

  // A stepped area between two lines.
  function drawArea(self, area, fill) {
    const { ctx, bbox } = self;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = fill;
    for (let k = 0; k + 1 < area.x.length; k++) {
      if (area.lower[k] == null || area.upper[k] == null) continue;
      const [left, right] = [area.x[k], area.x[k + 1]].map((x) => self.valToPos(x, "x", true));
      const [bottom, top] = [area.lower[k], area.upper[k]].map((y) => self.valToPos(y, "y", true));
      ctx.fillRect(left, top, right - left + 0.5, bottom - top);
    }
    ctx.restore();
  }

  // Points in their shapes, and triangles at the rim for what lies beyond the axis.
  function drawMarks(self, series, mark) {
    if (!self.series[series].show) return;
    const { ctx, bbox } = self, unit = devicePixelRatio, { stroke, fill, width } = look(mark);
    ctx.save();
    ctx.strokeStyle = stroke;
    ctx.setLineDash([]);
    ctx.lineWidth = (width || 1.4) * unit;
    for (let k = 0; k < self.data[0].length; k++) {
      const value = self.data[series][k];
      if (value == null) continue;
      const x = self.valToPos(self.data[0][k], "x", true), y = self.valToPos(value, "y", true);
      if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1) continue;
      const rim = Math.min(Math.max(y, bbox.top), bbox.top + bbox.height), side = Math.sign(y - rim);
      if (side && mark.is_inside_only) continue;
      ctx.fillStyle = side ? stroke : fill || "transparent";
      const r = (mark.shape === "diamond" ? 6 : 3) * unit;
      ctx.beginPath();
      if (side) { ctx.moveTo(x - r, rim - side * 2 * r); ctx.lineTo(x + r, rim - side * 2 * r); ctx.lineTo(x, rim); ctx.closePath(); }
      else if (mark.shape === "cross") { ctx.moveTo(x - r, y - r); ctx.lineTo(x + r, y + r); ctx.moveTo(x - r, y + r); ctx.lineTo(x + r, y - r); }
      else if (mark.shape === "square") { ctx.rect(x - r, y - r, 2 * r, 2 * r); }
      else if (mark.shape === "diamond") { ctx.moveTo(x, y - r); ctx.lineTo(x + r, y); ctx.lineTo(x, y + r); ctx.lineTo(x - r, y); ctx.closePath(); }
      else { ctx.arc(x, y, r, 0, 2 * Math.PI); }
      ctx.fill();
      ctx.stroke();
    }
    ctx.restore();
  }
})();
