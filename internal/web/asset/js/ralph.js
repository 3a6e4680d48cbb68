// What pages do beyond their HTML: clocks that go on, a word when the page is stale,
// messages that go away. Everything else works without it.
(() => {
  "use strict";
  const stale = document.getElementById("stale");
  let heard = Date.now();

  // Times count on between two patches.
  const two = (n) => String(n).padStart(2, "0");
  const elapsed = (s) => s < 60 ? `${s}s` : s < 3600 ? `${Math.floor(s / 60)}m ${two(s % 60)}s` : `${Math.floor(s / 3600)}h ${two(Math.floor(s / 60) % 60)}m`;
  const tick = () => {
    for (const t of document.querySelectorAll("time[data-running]")) {
      t.textContent = elapsed(Math.max(0, Math.floor((Date.now() - Date.parse(t.dataset.running)) / 1000)));
    }
    const quiet = Date.now() - heard;
    if (quiet > 8000 && document.body.hasAttribute("sse-connect")) {
      stale.textContent = `No word from ralph for ${elapsed(Math.floor(quiet / 1000))}: this page shows what was known then.`;
      stale.hidden = false;
    } else {
      stale.hidden = true;
    }
  };
  setInterval(tick, 1000);

  const lives = () => { heard = Date.now(); if (!stale.hidden) tick(); };
  document.addEventListener("htmx:sseOpen", lives);
  document.addEventListener("htmx:sseBeforeMessage", lives);
})();
