// What pages do beyond their HTML: clocks that go on, a word when the page is stale,
// messages that go away, fields that keep what was typed while the page changes round
// them. Everything else works without it. Keys are in keys.js.
(() => {
  "use strict";
  const root = document.documentElement;
  const stale = document.getElementById("stale");
  const toasts = document.getElementById("toasts");
  const quietAfter = 8000; // two beats of the stream and some

  // Clocks: time[data-running] counts up, [data-until] down, [data-ago] says how long it
  // is past; every other time is written in the reader's own zone.
  const two = (n) => String(n).padStart(2, "0");
  const elapsed = (s) => s < 60 ? `${s}s` : s < 3600 ? `${Math.floor(s / 60)}m ${two(s % 60)}s` : `${Math.floor(s / 3600)}h ${two(Math.floor(s / 60) % 60)}m`;
  const ago = (s) => s < 5 ? "just now" : s < 60 ? `${s}s ago` : s < 3600 ? `${Math.floor(s / 60)}m ago` : s < 172800 ? `${Math.floor(s / 3600)}h ago` : `${Math.floor(s / 86400)}d ago`;
  const local = (t, now) => {
    const clock = `${two(t.getHours())}:${two(t.getMinutes())}`;
    if (t.toDateString() === now.toDateString()) return `${clock}:${two(t.getSeconds())}`;
    const day = t.toLocaleDateString("en", { month: "short", day: "numeric" });
    return t.getFullYear() === now.getFullYear() ? `${day} ${clock}` : `${day} ${t.getFullYear()}`;
  };
  const write = (el, text) => { if (el.textContent !== text) el.textContent = text; };
  const clocks = () => {
    const then = document.getElementById("past-when")?.dataset.time; // a page of the past: its clocks stand
    const now = then ? new Date(then) : new Date();
    for (const el of document.querySelectorAll("time")) {
      const at = new Date(el.dataset.running || el.dataset.until || el.getAttribute("datetime"));
      if (Number.isNaN(at.getTime())) continue;
      const past = Math.floor((now - at) / 1000);
      if (el.dataset.running) write(el, elapsed(Math.max(0, past)));
      else if (el.dataset.until) write(el, past < 0 ? `${elapsed(-past)} left` : "its time is over");
      else if ("ago" in el.dataset) write(el, ago(Math.max(0, past)));
      else write(el, local(at, now));
      const full = `${at.toLocaleString()}, ${past < 0 ? `in ${elapsed(-past)}` : ago(past)}`;
      if (el.title !== full) el.title = full;
    }
  };

  // The slider of a page that is live leads to the page as it was; there it has its own ways.
  document.addEventListener("change", (e) => { if (e.target.matches("#past-at[data-leave]")) e.target.form.requestSubmit(); });

  // A page that hears nothing says so; one from another build of ralph loads itself anew.
  let heard = Date.now(), lost = false, gone = "", trouble = "", other = false;
  const streams = document.body.hasAttribute("sse-connect");
  const banner = () => {
    const quiet = Date.now() - heard;
    let words = "";
    if (gone) words = gone;
    else if (trouble) words = `${trouble}: this is what was known before.`;
    else if (other) words = "ralph was replaced by another build: reload the page when you are done here.";
    else if (streams && quiet > quietAfter) words = `${lost ? "The connection to ralph is lost, trying again" : "No word from ralph"} for ${elapsed(Math.floor(quiet / 1000))}: this is what was known then.`;
    if (stale.hidden === (words !== "")) stale.hidden = words === "";
    write(stale, words);
    root.classList.toggle("is-stale", words !== "");
  };
  const touched = new Set(); // fields with what a person typed
  const typing = () => document.querySelector("dialog[open]") || [...touched].some((f) => f.isConnected);
  const listened = new WeakSet();
  document.addEventListener("htmx:sseOpen", (e) => {
    heard = Date.now();
    lost = false;
    const source = e.detail.source;
    // What the page was made with is told once: from here on it changes.
    document.body.setAttribute("sse-connect", document.body.getAttribute("sse-connect").replace(/&have=[^&]*/, ""));
    if (listened.has(source)) return;
    listened.add(source);
    source.addEventListener("beat", () => { heard = Date.now(); banner(); });
    source.addEventListener("hello", (m) => {
      heard = Date.now();
      if (m.data === root.dataset.build) return banner();
      if (!typing()) return location.reload();
      other = true;
      banner();
    });
    source.addEventListener("trouble", (m) => {
      trouble = m.data;
      banner();
    });
    source.addEventListener("gone", (m) => {
      gone = `${m.data}: this is what was known of it.`;
      source.close();
      banner();
    });
    banner();
  });
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") heard = Date.now(); }); // see away.js
  document.addEventListener("htmx:sseError", () => { lost = true; });
  document.addEventListener("htmx:sseBeforeMessage", () => { heard = Date.now(); trouble = ""; });

  // The tab tells what goes on: title and picture come from the bar.
  const tab = () => {
    const bar = document.querySelector("#bar [data-head]");
    if (!bar) return;
    const page = root.dataset.page === "Overview" ? "" : root.dataset.page;
    const title = [bar.dataset.head, page, root.dataset.repository].filter(Boolean).join(" · ");
    if (document.title !== title) document.title = title;
    const icon = document.querySelector("link[rel=icon]");
    if (icon.getAttribute("href") !== bar.dataset.icon) icon.href = bar.dataset.icon;
    const waiting = document.getElementById("gates-waiting");
    write(waiting, bar.dataset.gates);
    waiting.hidden = bar.dataset.gates === "0";
    if ("services" in bar.dataset) document.querySelector('.nav [href="/services"]').parentElement.hidden = false; // one was asked meanwhile
  };
  let planned = false;
  const after = () => {
    if (planned) return;
    planned = true;
    queueMicrotask(() => { planned = false; clocks(); tab(); banner(); follow(); });
  };
  document.addEventListener("htmx:oobAfterSwap", after);
  document.addEventListener("htmx:sseMessage", after);
  setInterval(() => { clocks(); banner(); }, 1000);
  clocks();
  tab();

  // Forms that came with a patch have no token of their own, since a patch is made for
  // all. One that is sent before htmx has it in hand, or by itself, gets it here.
  document.addEventListener("submit", (e) => {
    const form = e.target;
    if (form.method !== "post" || form.elements.namedItem("csrf")) return;
    const add = (name, value) => form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
    add("csrf", document.body.dataset.csrf);
    if (!form.elements.namedItem("back")) add("back", location.pathname + location.search);
  }, true);

  // What a person has typed, unfolded or selected stays when the page changes round it.
  const remember = (e) => { if (e.target.matches?.("input, textarea, select")) touched.add(e.target); };
  document.addEventListener("input", remember);
  document.addEventListener("change", remember);
  const forget = (form) => { for (const f of [...touched]) if (!f.isConnected || form.contains(f)) touched.delete(f); };
  document.addEventListener("reset", (e) => forget(e.target));
  const kept = (name, node) => {
    if (name === "open") return node.matches("details, dialog");
    if (name === "aria-current") return node.matches("[data-row]");
    if (!["value", "checked", "selected"].includes(name)) return false;
    const field = node.closest("select") ?? node;
    return touched.has(field) || field === document.activeElement;
  };
  // A part of a section that is sent by itself stays when the section round it changes.
  Idiomorph.defaults.callbacks = {
    ...Idiomorph.defaults.callbacks,
    beforeAttributeUpdated: (name, node) => !kept(name, node),
    beforeNodeMorphed: (old, fresh) => !(fresh.matches?.("[data-own]") && old.id === fresh.id),
  };

  // Messages go away by themselves, but not from under the pointer.
  const say = (words) => {
    const toast = document.createElement("div");
    toast.className = "toast bad";
    toast.append(Object.assign(document.createElement("span"), { textContent: words }));
    toasts.append(toast);
  };
  const leave = (toast) => {
    const bad = toast.classList.contains("bad");
    const close = Object.assign(document.createElement("button"), { type: "button", className: "btn quiet small", textContent: "×" });
    close.setAttribute("aria-label", "Close");
    close.addEventListener("click", () => toast.remove());
    toast.append(close);
    let left = bad ? 20 : 8;
    const timer = setInterval(() => {
      if (!toast.isConnected) clearInterval(timer);
      else if (!toast.matches(":hover, :focus-within") && --left <= 0) toast.remove();
    }, 1000);
  };
  new MutationObserver((list) => {
    for (const m of list) for (const n of m.addedNodes) if (n.matches?.(".toast")) leave(n);
    while (toasts.children.length > 5) toasts.firstElementChild.remove();
  }).observe(toasts, { childList: true });
  document.addEventListener("htmx:responseError", (e) => say(`ralph did not take that (${e.detail.xhr.status}): reload the page and try again.`));
  document.addEventListener("htmx:sendError", () => say("ralph cannot be reached: nothing was done."));
  document.addEventListener("htmx:afterRequest", (e) => {
    const form = e.detail.elt, xhr = e.detail.xhr;
    if (!e.detail.successful || !form.matches?.("form") || xhr.getResponseHeader("HX-Retarget") || /class="toast bad"/.test(xhr.responseText)) return;
    forget(form);
    form.reset();
    form.closest(".toast")?.remove();
    const unfold = form.closest("details.unfold");
    if (unfold) {
      if (unfold.contains(document.activeElement)) unfold.querySelector("summary").focus();
      unfold.open = false;
    }
  });

  // How much of the window the top takes: what stays in sight below it goes by that.
  const top = document.querySelector(".top");
  const measured = () => {
    const style = getComputedStyle(top);
    const high = style.position === "sticky" ? top.offsetHeight + Math.min(0, parseFloat(style.top) || 0) : 0;
    root.style.setProperty("--top-height", `${high}px`);
  };
  new ResizeObserver(measured).observe(top);
  addEventListener("resize", measured);

  // What grows at its end is read at its end, until a person scrolls up in it.
  const ends = new WeakMap(); // where each was left: at its end, or further up
  const follow = () => {
    for (const el of document.querySelectorAll("[data-follow]")) {
      if (!ends.has(el)) {
        ends.set(el, { at: 0, up: false });
        el.addEventListener("scroll", () => {
          const end = ends.get(el), bottom = el.scrollHeight - el.clientHeight - el.scrollTop < 30;
          end.up = !bottom && (end.up || el.scrollTop < end.at);
          end.at = el.scrollTop;
        }, { passive: true });
      }
      if (!ends.get(el).up) el.scrollTop = el.scrollHeight;
    }
  };
  follow();

  // A row with a link to itself opens where it is clicked, but for what else it holds.
  document.addEventListener("click", (e) => {
    const row = e.target.closest?.("[data-row]");
    if (!row || e.defaultPrevented || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
    if (e.target.closest("a, button, summary, details, input, select, textarea, label, form, pre") || String(getSelection())) return;
    row.querySelector("a[data-open]")?.click();
  });

  // Light, dark, or as the system has it.
  const tools = document.querySelector(".tools"), theme = document.getElementById("theme");
  tools.hidden = false;
  const signs = { light: ["☀", "Light"], dark: ["☾", "Dark"], "": ["◐", "As the system has it"] };
  const shown = () => {
    const [sign, words] = signs[root.dataset.theme ?? ""];
    write(theme, sign);
    theme.title = `Colours: ${words}`;
    theme.setAttribute("aria-label", theme.title);
  };
  theme.addEventListener("click", () => {
    const next = { "": "light", light: "dark", dark: "" }[root.dataset.theme ?? ""];
    if (next) root.dataset.theme = next; else delete root.dataset.theme;
    try { next ? localStorage.setItem("theme", next) : localStorage.removeItem("theme"); } catch { /* it holds for this page */ }
    shown();
  });
  shown();
})();
