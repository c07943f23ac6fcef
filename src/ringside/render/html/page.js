// Unpacks and draws the plots, those near the window first, when the part that they are folded into is open.
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
  if (!boxes.length) return;

  const save = (name, type, content) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    window.setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  // All series of a plot, as `render/plots/charts.py` writes them.
  let marks = [];
  const csv = (datasets) => {
    const series = Object.entries(datasets).filter(([name, rows]) => !marks.includes(name) && rows.length);
    const rows = series.flatMap(([name, each]) => (series.length > 1 ? each.map((row) => ({ series: name, ...row })) : each));
    const fields = Array.from(new Set(rows.flatMap((row) => Object.keys(row))));
    const cell = (value) => {
      const text = value === null || value === undefined ? "" : String(value);
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [fields, ...rows.map((row) => fields.map((field) => row[field]))]
      .map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
  };
  // A file stands by itself: the page's colours are put in place of their variables.
  const colours = (text) => {
    const style = getComputedStyle(root);
    return text.replace(/var\((--[a-z0-9]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  };
  const picture = (svg) => new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 2 * image.width;
      canvas.height = 2 * image.height;
      const context = canvas.getContext("2d");
      context.fillStyle = colours("var(--paper)");
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => resolve(blob), "image/png");
    };
    image.onerror = () => reject(new Error("the plot cannot be made a PNG"));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  });
  const downloads = (box, view, spec) => {
    const list = document.createElement("p");
    list.className = "downloads";
    const name = box.dataset.chart;
    const offers = {
      SVG: async () => save(`${name}.svg`, "image/svg+xml", colours(await view.toSVG())),
      PNG: async () => save(`${name}.png`, "image/png", await picture(colours(await view.toSVG()))),
      CSV: async () => save(`${name}.csv`, "text/csv", csv(spec.datasets)),
    };
    for (const [kind, give] of Object.entries(offers)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind;
      button.title = `Download as ${kind}`;
      button.addEventListener("click", () => give().catch(note));
      list.append(button);
    }
    box.after(list);
  };

  const begin = async () => {
    // The policy knows the script by its hash, wherever it comes from.
    const script = document.createElement("script");
    script.textContent = await unpack("library");
    document.head.append(script);
    if (!window.vegaEmbed) throw new Error("vega did not load");
    const { config, specs, marks: names } = JSON.parse(await unpack("charts"));
    marks = names;
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
        const spec = specs[boxes.indexOf(box)];
        const drawing = window
          .vegaEmbed(box, spec, options)
          .then(({ view }) => {
            downloads(box, view, spec);
            root.dataset.drawn = Number(root.dataset.drawn) + 1;
          }, (error) => {
            box.textContent = "This plot could not be drawn; the tables hold its figures.";
            note(error);
          });
        drawings.set(box, drawing);
      }
      return drawings.get(box);
    };
    const near = new IntersectionObserver(
      (entries) => entries.forEach((entry) => entry.isIntersecting && draw(entry.target)),
      { rootMargin: "400px" },
    );
    boxes.forEach((box) => near.observe(box));
    // A plot that is folded away has no width to be drawn in. One at a time, with room for clicks in between.
    const rest = () => {
      const next = boxes.find((box) => !drawings.has(box) && box.clientWidth);
      if (next) draw(next).then(() => window.setTimeout(rest, 0));
    };
    rest();
    document.addEventListener("toggle", rest, true);
    window.addEventListener("beforeprint", () => boxes.filter((box) => box.clientWidth).forEach(draw));
  };
  // After the first paint.
  window.setTimeout(() => begin().catch(note), 0);
})();
