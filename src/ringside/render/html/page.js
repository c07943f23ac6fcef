// Draws the plots: those near the window first, the others when there is time, all of them before printing.
"use strict";
(() => {
  const root = document.documentElement;
  const errors = [];
  const note = (error) => {
    errors.push(String(error && error.message ? error.message : error));
    root.dataset.errors = errors.join("\n");
  };
  window.addEventListener("error", (event) => note(event.message));
  window.addEventListener("unhandledrejection", (event) => note(event.reason));

  const boxes = Array.from(document.querySelectorAll("[data-chart]"));
  root.dataset.charts = boxes.length;
  root.dataset.drawn = 0;
  if (!window.vegaEmbed) {
    note("vega did not load");
    return;
  }
  const { config, specs } = JSON.parse(document.getElementById("charts").textContent);
  // ast: expressions are interpreted, so that the page does without eval. The tooltip is styled by the page.
  const options = {
    actions: false,
    ast: true,
    config,
    defaultStyle: false,
    mode: "vega-lite",
    renderer: "svg",
    tooltip: { disableDefaultStyle: true },
  };
  const drawings = new Map();
  const draw = (box) => {
    if (!drawings.has(box)) {
      const drawing = window
        .vegaEmbed(box, specs[Number(box.dataset.chart)], options)
        .then(() => {
          root.dataset.drawn = Number(root.dataset.drawn) + 1;
        }, (error) => {
          box.textContent = "This plot could not be drawn; the tables hold its figures.";
          note(error);
        });
      drawings.set(box, drawing);
    }
    return drawings.get(box);
  };
  if ("IntersectionObserver" in window) {
    const near = new IntersectionObserver(
      (entries) => entries.forEach((entry) => entry.isIntersecting && draw(entry.target)),
      { rootMargin: "400px" },
    );
    boxes.forEach((box) => near.observe(box));
  }
  // One at a time, with room for clicks in between.
  const rest = () => {
    const next = boxes.find((box) => !drawings.has(box));
    if (next) draw(next).then(() => window.setTimeout(rest, 0));
  };
  window.setTimeout(rest, 0);
  window.addEventListener("beforeprint", () => boxes.forEach(draw));
})();
