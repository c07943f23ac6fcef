// The form sends itself when something is chosen; the command can be copied.
"use strict";
(() => {
  const form = document.getElementById("compose");
  form.addEventListener("change", (event) => {
    if (event.target.name === "experiment") {
      // The fields of another experiment do not belong to this one.
      location.assign(`/compose?experiment=${encodeURIComponent(event.target.value)}`);
    } else {
      form.requestSubmit();
    }
  });
  const copy = document.getElementById("copy");
  const command = document.getElementById("command");
  if (!copy || !navigator.clipboard) return;
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(command.textContent);
    copy.textContent = "Copied";
    window.setTimeout(() => { copy.textContent = "Copy"; }, 2000);
  });
})();
