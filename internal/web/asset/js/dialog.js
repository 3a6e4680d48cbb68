// The question before an action: it comes into the dialog, which opens with it and closes
// with the answer.
(() => {
  "use strict";
  const dialog = document.getElementById("dialog");
  // Settled, not only swapped: before that its form would be sent as one without scripts.
  document.addEventListener("htmx:afterSettle", (e) => {
    if (e.detail.target === dialog && !dialog.open) dialog.showModal();
  });
  document.addEventListener("htmx:afterRequest", (e) => {
    if (dialog.contains(e.detail.elt) && e.detail.elt.matches(".confirm")) dialog.close();
  });
  dialog.addEventListener("click", (e) => {
    if (!e.target.closest("[data-close]")) return;
    e.preventDefault();
    dialog.close();
  });
})();
