// What the settings page does beyond its HTML: it looks while one types, counts what was
// changed, and says when the file is another by now.
(() => {
  "use strict";
  const all = (s) => document.querySelectorAll(s);

  const look = () => {
    const find = document.querySelector("[data-settings-filter]");
    if (!find) return;
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = document.querySelector("[data-settings-only]").checked;
    for (const section of all(".settings-section")) {
      const title = section.querySelector("h2").textContent.toLowerCase();
      let shown = 0;
      for (const s of section.querySelectorAll(".setting")) {
        const text = title + " " + s.querySelector(".setting-what").textContent.toLowerCase();
        const marked = s.matches(".set, .edited, .wrong");
        s.hidden = !words.every((w) => text.includes(w)) || (only && !marked);
        if (!s.hidden) shown++;
      }
      section.hidden = shown === 0;
      if (section.tagName === "DETAILS" && (words.length || only) && shown) section.open = true;
      const link = document.querySelector(`[data-settings-link="${section.id}"]`);
      if (link) link.parentElement.hidden = section.hidden;
    }
  };

  const value = (s) => {
    const c = s.querySelector("input:not([type=hidden]), select, textarea");
    return c.type === "checkbox" ? String(c.checked) : c.value;
  };
  const count = () => {
    let n = 0;
    for (const s of all(".setting")) {
      const was = s.querySelector("input[type=hidden]");
      if (!was) continue;
      const edited = value(s).trimEnd() !== was.value.trimEnd();
      s.classList.toggle("edited", edited);
      if (edited) n++;
    }
    const out = document.querySelector("[data-settings-count]");
    if (out && n) out.textContent = n === 1 ? "1 change is not saved yet." : `${n} changes are not saved yet.`;
    else if (out) out.textContent = "All is checked before anything is written; comments in the file stay.";
    return n;
  };
  const moved = () => {
    const news = document.querySelector("[data-settings-hash]");
    const made = document.querySelector("form input[name=hash]");
    if (news && made) news.hidden = news.dataset.settingsHash === made.value;
  };

  let leaving = false;
  document.addEventListener("input", (e) => {
    if (e.target.matches("[data-settings-filter], [data-settings-only]")) look();
    else if (e.target.closest("[data-settings-form]")) count();
  });
  document.addEventListener("submit", (e) => { leaving = e.target.method === "post"; });
  window.addEventListener("beforeunload", (e) => {
    if (!leaving && document.querySelector("[data-settings-form]") && count()) e.preventDefault();
  });
  document.addEventListener("htmx:afterSettle", moved);
  document.addEventListener("htmx:sseMessage", moved);
  document.addEventListener("DOMContentLoaded", () => { if (document.querySelector("[data-settings-form]")) count(); moved(); });
})();
