// A run in progress: each event replaces the parts that have changed, and draws the plots that are in sight.
"use strict";
(() => {
  const vegaAddress = document.currentScript.dataset.vega;
  const root = document.documentElement;
  const errors = [];
  const note = (error) => {
    errors.push(String(error && error.message ? error.message : error));
    root.dataset.errors = errors.join("\n");
  };
  window.addEventListener("error", (event) => note(event.message));
  window.addEventListener("unhandledrejection", (event) => note(event.reason));

  const status = document.getElementById("status");
  const state = status.querySelector(".state");
  const says = status.querySelector(".note");
  const trouble = document.getElementById("trouble");
  const interim = document.getElementById("interim");
  const run = status.dataset.run;

  let config = {};
  let plots = {};
  let vega;
  const loadVega = () => {
    vega ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = vegaAddress;
      script.onload = () => resolve(window.vegaEmbed);
      script.onerror = () => reject(new Error("the plots' script did not load"));
      document.head.append(script);
    });
    return vega;
  };

  // By a plot's place: what was drawn there last, as text, and the drawing.
  const drawn = new Map();
  const draw = async (box) => {
    const key = box.dataset.plot;
    const spec = JSON.stringify(plots[key]);
    if (!plots[key] || box.dataset.shown === spec) return;
    box.dataset.shown = spec;
    // Beside the old one until it is complete, so that nothing flickers.
    const next = document.createElement("div");
    box.append(next);
    try {
      const embed = await loadVega();
      const options = { actions: false, ast: true, config, defaultStyle: false, mode: "vega-lite", renderer: "svg", tooltip: { disableDefaultStyle: true } };
      const result = await embed(next, plots[key], options);
      const old = drawn.get(box);
      drawn.set(box, result);
      box.replaceChildren(next);
      old?.finalize();
      root.dataset.drawn = Number(root.dataset.drawn || 0) + 1;
    } catch (error) {
      box.textContent = "This plot could not be drawn; the tables hold its figures.";
      note(error);
    }
  };
  const near = new IntersectionObserver(
    (entries) => entries.forEach((entry) => {
      entry.target.dataset.near = entry.isIntersecting ? "1" : "";
      if (entry.isIntersecting) draw(entry.target);
    }),
    { rootMargin: "300px" },
  );

  // What stands in a place now, to leave alone what has not changed.
  const shown = new Map();
  const replace = (id, html) => {
    const place = document.getElementById(id);
    if (!place || shown.get(id) === html) return;
    const open = new Map(Array.from(place.querySelectorAll("details[id]"), (each) => [each.id, each.open]));
    shown.set(id, html);
    const template = document.createElement("template");
    template.innerHTML = html;
    if (id === "plots" && places(template.content) === places(place)) {
      // The same plots with new data: the drawings stay until they are drawn again.
      return;
    }
    place.querySelectorAll("[data-plot]").forEach((box) => {
      near.unobserve(box);
      drawn.get(box)?.finalize();
      drawn.delete(box);
    });
    place.replaceChildren(template.content);
    open.forEach((isOpen, key) => {
      const details = document.getElementById(key);
      if (details) details.open = isOpen;
    });
  };
  const places = (part) =>
    Array.from(part.querySelectorAll("h3, figcaption, [data-plot], .legend li"), (each) => each.dataset.plot || each.textContent).join("\n");

  const show = (content) => {
    ({ config, plots } = content);
    // Before any is in sight: the page ends with its run, and can be read on.
    if (Object.keys(plots).length) loadVega().catch(note);
    Object.entries(content.parts).forEach(([id, html]) => replace(id, html));
    document.querySelectorAll("[data-plot]").forEach((box) => {
      if (box.dataset.near === undefined) {
        box.style.minHeight = `${box.dataset.height}px`;
        near.observe(box);
      } else if (box.dataset.near) {
        draw(box);
      }
    });
    root.dataset.updates = Number(root.dataset.updates || 0) + 1;
  };

  const word = (text) => {
    state.textContent = text;
    state.className = `state ${text.replace(" ", "-")}`;
  };
  let source;
  let isOver = false;
  const connect = () => {
    if (source || isOver) return;
    source = new EventSource(`/runs/${run}/events`);
    source.onopen = () => { says.textContent = ""; };
    source.onerror = () => { if (!isOver) says.textContent = "No connection: trying again. If the run has ended, so has its page; `ringside report` writes it to a file."; };
    source.addEventListener("progress", (event) => {
      const progress = JSON.parse(event.data);
      trouble.hidden = true;
      word(progress.state);
      status.querySelector(".count").textContent = `${progress.trials.toLocaleString("en")} trials`;
      root.dataset.trials = progress.trials;
    });
    source.addEventListener("content", (event) => show(JSON.parse(event.data)));
    source.addEventListener("trouble", (event) => {
      trouble.textContent = `${JSON.parse(event.data).text}. What is shown is from before; it is looked at again every two seconds.`;
      trouble.hidden = false;
    });
    source.addEventListener("end", () => {
      isOver = true;
      disconnect();
      interim.hidden = true;
      says.textContent = "The run has ended. ";
      const link = document.createElement("a");
      link.href = `/runs/${run}`;
      link.textContent = "Its report";
      says.append(link);
      root.dataset.over = "1";
    });
  };
  const disconnect = () => {
    source?.close();
    source = undefined;
  };
  // A page that nobody sees costs nothing, and leaves its connection to others.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) disconnect();
    else connect();
  });
  window.addEventListener("pagehide", disconnect);
  window.addEventListener("pageshow", connect);
  connect();
})();
