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
    let data;
    try {
      const answer = await fetch(`${address}/convergence.json${place.dataset.query}`);
      if (!answer.ok) return;
      data = await answer.json();
    } catch {
      return;  // the server is away
    }
    if (!data.trial.length || !document.contains(place)) return;
    const controls = document.querySelector(".controls");
    controls.hidden = false;
    const over = document.getElementById("over").value;
    const isGap = document.getElementById("scale").value === "gap";
    place.replaceChildren();
    wide = place.clientWidth;
    plot = new uPlot(options(place, data, over, isGap), series(data, over, isGap), place);
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", `Best value and bound over ${data.trial.length} trials`);
  }

  function series(data, over, isGap) {
    const x = data[over];
    if (isGap) return [x, data.gap.map((v) => (v > 0 ? v : null))];
    const split = (wanted) => data.objective.map((v, k) => (data.feasible[k] === wanted ? v : null));
    return [x, data.bound, data.best, split(true), split(false)];
  }

  function options(place, data, over, isGap) {
    const look = getComputedStyle(document.documentElement);
    const colour = (name) => look.getPropertyValue(`--${name}`).trim();
    const axis = { stroke: colour("quiet"), grid: { stroke: colour("line"), width: 0.5 }, ticks: { stroke: colour("line") } };
    const steps = uPlot.paths.stepped({ align: 1 });
    const shown = (self, v) => (v == null ? "–" : Number(v.toPrecision(8)).toString());
    const marks = (name, stroke) => ({ label: name, stroke, fill: stroke, value: shown, points: { show: false }, paths: () => null });
    const drawAll = (self) => {
      drawMarks(self, 3, colour("mark"), false);
      drawMarks(self, 4, colour("trouble"), true);
    };
    const lines = isGap
      ? [{ label: "gap", stroke: colour("ink"), width: 2, paths: steps, points: { show: false }, value: shown }]
      : [
          { label: "bound", stroke: colour("mark"), width: 1.6, dash: [6, 4], paths: steps, points: { show: false }, value: shown },
          { label: "best feasible", stroke: colour("ink"), width: 2.2, paths: steps, points: { show: false }, value: shown },
          marks("value", colour("mark")),
          marks("infeasible value", colour("trouble")),
        ];
    return {
      width: place.clientWidth,
      height: Math.max(240, Math.min(380, place.clientWidth * 0.45)),
      scales: { x: { time: false }, y: isGap ? { distr: 3 } : { range: () => focus(data) } },
      axes: [{ ...axis, label: over, ...(over === "trial" ? { incrs: WHOLE } : {}) }, { ...axis, label: isGap ? "gap" : place.dataset.objective, size: 70 }],
      series: [{ label: over }, ...lines],
      // The area belongs to the bound, so that the best value is drawn over it.
      bands: isGap ? [] : [{ series: [1, 2], fill: colour("band"), dir: place.dataset.verb === "minimize" ? 1 : -1 }],
      hooks: isGap ? {} : { draw: [drawAll] },
    };
  }

  // Dots, crosses for what is infeasible, and triangles at the rim for what lies beyond the axis.
  function drawMarks(self, series, stroke, isCross) {
    if (!self.series[series].show) return;
    const { ctx, bbox } = self, unit = devicePixelRatio;
    ctx.save();
    ctx.fillStyle = ctx.strokeStyle = stroke;
    ctx.lineWidth = 1.6 * unit;
    for (let k = 0; k < self.data[0].length; k++) {
      const value = self.data[series][k];
      if (value == null) continue;
      const x = self.valToPos(self.data[0][k], "x", true), y = self.valToPos(value, "y", true);
      const rim = Math.min(Math.max(y, bbox.top), bbox.top + bbox.height), r = 3 * unit;
      const side = Math.sign(y - rim);
      ctx.beginPath();
      if (side) { ctx.moveTo(x - r, rim - side * 2 * r); ctx.lineTo(x + r, rim - side * 2 * r); ctx.lineTo(x, rim); ctx.fill(); }
      else if (isCross) { ctx.moveTo(x - r, y - r); ctx.lineTo(x + r, y + r); ctx.moveTo(x - r, y + r); ctx.lineTo(x + r, y - r); ctx.stroke(); }
      else { ctx.arc(x, y, r, 0, 2 * Math.PI); ctx.fill(); }
    }
    ctx.restore();
  }

  // Best value and bound fill the axis; early trials may lie far outside.
  function focus(data) {
    const found = [...data.best, ...data.bound].filter((v) => v !== null).sort((a, b) => a - b);
    const values = found.length ? found : data.objective.filter((v) => v !== null).sort((a, b) => a - b);
    const at = (part) => values[Math.min(values.length - 1, Math.floor(part * values.length))];
    const low = at(0.02), high = at(0.98);
    const room = 0.15 * (high - low) || 0.05 * (1 + Math.abs(high));
    return [low - room, high + room];
  }
})();
