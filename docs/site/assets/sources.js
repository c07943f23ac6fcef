// What is large is kept compressed, in base64, until it is needed; sources are shown when they are opened.
"use strict";
const unpack = (() => {
  const unpacked = new Map();
  return (name) => {
    if (!unpacked.has(name)) {
      const bytes = Uint8Array.from(atob(document.getElementById(name).textContent), (one) => one.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      unpacked.set(name, new Response(stream).text());
    }
    return unpacked.get(name);
  };
})();
for (const box of document.querySelectorAll("[data-source]")) {
  box.addEventListener("toggle", () => {
    const place = box.querySelector("pre");
    if (!box.open || place.dataset.shown) return;
    place.dataset.shown = "yes";
    // Made into HTML by ringside, which escaped all of it.
    unpack("texts").then((text) => {
      place.innerHTML = JSON.parse(text)[box.dataset.source];
    });
  });
}
