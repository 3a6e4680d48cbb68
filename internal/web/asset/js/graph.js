// The dependency graph: wheel, pinch and drag zoom and move it, and what hangs together
// with a task lights up. It all hangs on the document, so that a patch of the page takes
// nothing away; the part of the drawing that is looked at is kept over patches.
(() => {
  "use strict";
  const graph = () => document.getElementById("graph");
  let box = null; // what is looked at: x, y, width, height; null is what the page says
  let seen = "";  // the drawing's own viewBox, when box was taken from it
  const pointers = new Map();
  let moved = 0;

  const own = (svg) => svg.dataset.whole || (svg.dataset.whole = svg.getAttribute("viewBox"));
  const show = (svg) => {
    if (own(svg) !== seen) { box = null; seen = own(svg); }
    const value = box ? box.map((v) => v.toFixed(1)).join(" ") : seen;
    if (svg.getAttribute("viewBox") !== value) svg.setAttribute("viewBox", value);
  };
  // where is a point of the screen, in the drawing's units.
  const where = (svg, x, y) => {
    const p = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM().inverse());
    return [p.x, p.y];
  };
  const look = (svg) => box || own(svg).split(" ").map(Number);
  const zoom = (svg, factor, x, y) => {
    const whole = own(svg).split(" ").map(Number), b = look(svg), [px, py] = where(svg, x, y);
    const w = Math.min(whole[2] * 1.5, Math.max(120, b[2] * factor)), f = w / b[2];
    box = [px - (px - b[0]) * f, py - (py - b[1]) * f, w, b[3] * f];
    seen = own(svg);
    show(svg);
  };

  document.addEventListener("wheel", (e) => {
    const svg = e.target.closest && e.target.closest("#graph");
    if (!svg || !(e.ctrlKey || e.metaKey || e.altKey || e.deltaMode === 0)) return;
    e.preventDefault();
    zoom(svg, Math.exp(Math.max(-60, Math.min(60, e.deltaY)) / 250), e.clientX, e.clientY);
  }, { passive: false });

  document.addEventListener("pointerdown", (e) => {
    const svg = e.target.closest && e.target.closest("#graph");
    if (!svg || e.button !== 0) return;
    pointers.set(e.pointerId, [e.clientX, e.clientY]);
    moved = 0;
  });
  document.addEventListener("pointermove", (e) => {
    const svg = graph(), from = pointers.get(e.pointerId);
    if (!svg || !from) return;
    const to = [e.clientX, e.clientY], others = [...pointers].filter(([id]) => id !== e.pointerId);
    moved += Math.abs(to[0] - from[0]) + Math.abs(to[1] - from[1]);
    if (moved < 5) return;
    if (others.length > 0) { // two fingers
      const o = others[0][1], d = (p) => Math.max(1, Math.hypot(p[0] - o[0], p[1] - o[1]));
      zoom(svg, d(from) / d(to), (to[0] + o[0]) / 2, (to[1] + o[1]) / 2);
    } else {
      const a = where(svg, ...from), b = where(svg, ...to), l = look(svg);
      box = [l[0] - (b[0] - a[0]), l[1] - (b[1] - a[1]), l[2], l[3]];
      seen = own(svg);
      show(svg);
    }
    pointers.set(e.pointerId, to);
  });
  for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, (e) => pointers.delete(e.pointerId));
  document.addEventListener("dragstart", (e) => { if (e.target.closest && e.target.closest("#graph")) e.preventDefault(); });
  document.addEventListener("click", (e) => { // the end of a drag opens nothing
    if (moved >= 5 && e.target.closest && e.target.closest("#graph")) { e.preventDefault(); e.stopPropagation(); }
    moved = 0;
  }, true);
  document.addEventListener("dblclick", (e) => {
    const svg = e.target.closest && e.target.closest("#graph");
    if (svg) { box = null; show(svg); }
  });

  // What a task waits for, and what waits for it.
  const light = (svg, n) => {
    const lines = [...svg.querySelectorAll("[data-e]")].map((line) => ({ line, ends: line.dataset.e.split(" ") }));
    const lit = new Set([n]);
    for (const [a, b] of [[0, 1], [1, 0]]) {
      const next = new Map();
      for (const { ends } of lines) next.set(ends[b], (next.get(ends[b]) || []).concat(ends[a]));
      const queue = [n], found = new Set([n]);
      while (queue.length) for (const x of next.get(queue.pop()) || []) if (!found.has(x)) { found.add(x); queue.push(x); lit.add(x); }
    }
    svg.classList.add("dim");
    for (const { line, ends } of lines) line.classList.toggle("lit", lit.has(ends[0]) && lit.has(ends[1]));
    for (const node of svg.querySelectorAll("[data-n]")) node.classList.toggle("lit", lit.has(node.dataset.n));
  };
  const dark = (svg) => {
    svg.classList.remove("dim");
    for (const x of svg.querySelectorAll(".lit")) x.classList.remove("lit");
  };
  for (const [on, off] of [["pointerover", "pointerout"], ["focusin", "focusout"]]) {
    document.addEventListener(on, (e) => {
      const node = e.target.closest && e.target.closest("#graph [data-n]");
      if (node && pointers.size === 0) light(node.closest("#graph"), node.dataset.n);
    });
    document.addEventListener(off, (e) => {
      const node = e.target.closest && e.target.closest("#graph [data-n]");
      if (node) dark(node.closest("#graph"));
    });
  }

  // A patch of the page puts the whole drawing back: keep what is looked at.
  new MutationObserver((list) => {
    for (const m of list) {
      const svg = m.target;
      if (svg.id !== "graph" || m.attributeName !== "viewBox" || !box) continue;
      const now = svg.getAttribute("viewBox");
      if (now === box.map((v) => v.toFixed(1)).join(" ")) continue;
      svg.dataset.whole = now;
      if (now === seen) show(svg); else { box = null; seen = now; }
    }
  }).observe(document.body, { subtree: true, attributes: true, attributeFilter: ["viewBox"] });
})();
