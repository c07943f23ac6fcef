// Sorts and filters the overview.
"use strict";
(() => {
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const upwards = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", upwards ? "ascending" : "descending");
        const value = (row) => Number(row.cells[column].dataset.sort);
        const rows = Array.from(table.tBodies[0].rows);
        rows.sort((one, other) => (upwards ? 1 : -1) * (value(one) - value(other)));
        rows.forEach((row) => table.tBodies[0].append(row));
      });
    });
  }
  const filter = document.getElementById("class-filter");
  if (filter) {
    filter.addEventListener("change", () => {
      for (const row of document.querySelectorAll("table.overview tbody tr")) {
        row.hidden = Boolean(filter.value) && !row.dataset.kinds.split(" ").includes(filter.value);
      }
    });
  }
})();
