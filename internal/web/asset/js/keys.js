// The keyboard: every key is a data-key (one key) or data-keys (two, one after the other)
// of something on the page, so that what can be done and what its key is cannot differ.
(() => {
  "use strict";
  const dialog = document.getElementById("dialog");
  const rows = () => [...document.querySelectorAll("main [data-row]")].filter((r) => r.checkVisibility());
  const selected = () => document.querySelector('[data-row][aria-current="true"]');
  const mark = (row) => {
    for (const r of document.querySelectorAll("[data-row][aria-current]")) if (r !== row) r.removeAttribute("aria-current");
    row?.setAttribute("aria-current", "true");
  };
  const select = (row) => {
    mark(row);
    if (!row) return;
    if (row.tabIndex < 0) row.tabIndex = -1;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  };
  const move = (by) => {
    const list = rows(), at = list.indexOf(selected());
    if (list.length) select(list[at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + by))]);
  };
  // Its own keys are those of the screen, where a person chose others.
  const own = (name, usual) => document.body.getAttribute(`data-key-of-${name}`) ?? usual;
  const inField = (el) => el.matches?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
  // A button behind More is there for its key as if it stood open.
  const behind = (el) => el.closest("details.more:not([open])");
  const act = (el) => {
    const more = behind(el);
    if (more) more.open = true;
    if (el.matches("summary")) {
      const details = el.parentElement;
      details.open = !details.open;
      if (details.open) (details.querySelector("form :is(input:not([type=hidden]), textarea, select)") ?? el).focus();
      return;
    }
    if (!el.disabled) el.click();
  };

  // The row where a person is, by Tab or the mouse, is the one that keys act on.
  for (const event of ["focusin", "click"]) document.addEventListener(event, (e) => {
    const row = e.target.closest?.("main [data-row]");
    if (row) mark(row);
  });

  // What a key does: in the selected row first, then what belongs to the whole page. A key
  // that only rows have selects the first of them, so that it never acts unseen.
  const press = (key) => {
    const has = `[data-key="${CSS.escape(key)}"]`;
    const visible = (el) => (behind(el) ?? el).checkVisibility();
    const row = selected();
    const inRow = row && [...row.querySelectorAll(has)].find(visible);
    if (inRow) return act(inRow), true;
    const all = [...document.querySelectorAll(has)].filter(visible);
    const page = all.find((el) => !el.closest("[data-row], dialog"));
    if (page) return act(page), true;
    const first = all.find((el) => el.closest("[data-row]"));
    if (!first) return false;
    select(first.closest("[data-row]"));
    return true;
  };

  const element = (tag, text, attributes = {}) => {
    const el = Object.assign(document.createElement(tag), { textContent: text });
    for (const [name, value] of Object.entries(attributes)) el.setAttribute(name, value);
    return el;
  };
  const open = (label, ...content) => {
    dialog.setAttribute("aria-label", label);
    dialog.replaceChildren(...content);
    if (!dialog.open) dialog.showModal();
  };
  const words = (el) => {
    const copy = el.cloneNode(true);
    for (const k of copy.querySelectorAll("kbd, .waiting")) k.remove();
    return (el.dataset.keyTitle ?? el.getAttribute("aria-label") ?? copy.textContent).replace(/\s+/g, " ").replace(/ …$/, "").trim();
  };

  const help = () => {
    const list = new Map([[`${own("next", "j")} ${own("previous", "k")}`, "Next, previous row"], ["Enter", "Open the selected row"], [own("search", "/"), "Search"], [own("help", "?"), "This list"], ["Esc", "Close, leave a field"]]);
    for (const el of document.querySelectorAll("[data-key], [data-keys]")) {
      const key = el.dataset.keys ?? el.dataset.key;
      if (key && !list.has(key) && !el.closest("dialog")) list.set(key, words(el));
    }
    const dl = element("dl", "", { class: "keys" });
    for (const [key, what] of list) {
      const dt = element("dt", "");
      dt.append(...key.split(" ").map((k) => element("kbd", k)));
      dl.append(dt, element("dd", what));
    }
    const box = element("div", "", { class: "card" });
    box.append(element("h2", "Keys on this page"), dl);
    open("Keys", box);
  };

  // The palette is the page /search in the dialog.
  let asked = 0;
  const find = async (q, out) => {
    const mine = ++asked;
    try {
      const answer = await fetch(`/search?q=${encodeURIComponent(q)}`, { headers: { "X-Palette": "1" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (mine !== asked) return;
      out.replaceChildren(...(page.getElementById("results")?.children ?? []));
      window.htmx?.process(out); // the buttons of actions
      pick(out, 0);
    } catch {
      if (mine === asked) out.replaceChildren(element("p", "ralph cannot be reached.", { class: "empty" }));
    }
  };
  const pick = (out, by) => {
    const list = [...out.querySelectorAll("[data-row]")];
    const at = list.findIndex((r) => r.getAttribute("aria-current") === "true");
    const next = list[Math.min(list.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    for (const r of list) r.toggleAttribute("aria-current", false);
    next?.setAttribute("aria-current", "true");
    next?.scrollIntoView({ block: "nearest" });
  };
  const palette = () => {
    const input = element("input", "", { type: "search", placeholder: "Pages, tasks, specs, gates, actions", "aria-label": "Search", autocomplete: "off", spellcheck: "false" });
    const out = element("div", "", { class: "found" });
    const box = element("div", "", { class: "palette" });
    box.append(input, out);
    let timer;
    input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => find(input.value, out), 90); });
    input.addEventListener("keydown", (e) => {
      if (e.key === "ArrowDown" || e.key === "ArrowUp") {
        e.preventDefault();
        pick(out, e.key === "ArrowDown" ? 1 : -1);
      } else if (e.key === "Enter") {
        e.preventDefault();
        out.querySelector('[data-row][aria-current="true"] :is(a, button)')?.click();
      }
    });
    open("Search", box);
    input.focus();
    find("", out);
  };

  // An action of the palette is done: it closes, unless it asks first.
  document.addEventListener("htmx:afterRequest", (e) => {
    if (e.detail.elt.closest(".palette") && !e.detail.xhr?.getResponseHeader("HX-Retarget")) dialog.close();
  });

  let before = "", since = 0;
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || e.defaultPrevented) return;
    if (e.key === "Escape") {
      if (dialog.open) return; // it closes by itself
      const unfold = e.target.closest?.("details.unfold[open]");
      if (unfold) { unfold.open = false; unfold.querySelector("summary").focus(); }
      else if (inField(e.target)) e.target.blur();
      else select(null);
      return;
    }
    if (dialog.open || inField(e.target)) return;
    const two = Date.now() - since < 1500 && before ? `${before} ${e.key}` : "";
    before = "";
    const link = two && document.querySelector(`[data-keys="${CSS.escape(two)}"]`);
    if (link) { e.preventDefault(); return link.click(); }
    if (document.querySelector(`[data-keys^="${CSS.escape(e.key)} "]`)) {
      before = e.key;
      since = Date.now();
      return;
    }
    const onControl = e.target.closest?.("a, button, summary");
    switch (e.key) {
      case own("next", "j"): move(1); break;
      case own("previous", "k"): move(-1); break;
      case own("help", "?"): help(); break;
      case own("search", "/"): palette(); break;
      case "Enter": {
        const row = selected();
        if (!row || onControl) return;
        const href = row.dataset.href ?? row.querySelector("a")?.getAttribute("href");
        if (href) location.assign(href);
        break;
      }
      default: if (!press(e.key)) return;
    }
    e.preventDefault();
  });
  document.getElementById("help").addEventListener("click", help);
  document.getElementById("find").addEventListener("pointerdown", (e) => { e.preventDefault(); palette(); });
  dialog.addEventListener("click", (e) => { if (e.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => { asked++; dialog.replaceChildren(); });
})();
