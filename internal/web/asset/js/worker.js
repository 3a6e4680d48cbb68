// A browser holds six connections to one host. So all tabs of one repository share this
// worker, which holds one stream for all of them: its address says which pages they are and
// what each has, and when they change another stream takes its place, without a gap.
// What a tab and the worker say to each other is in tabs.js.
"use strict";
const most = 60, long = 16000; // pages of a stream, and letters of its address: the server has limits
const tick = 3000, silent = 5; // a tab that does not answer to so many ticks is asleep or gone
const deaf = 12000; // some beats of the stream
const tabs = new Set();
let now = null; // the stream that is heard
let next = null; // the one that takes its place when it answers
let changed = false, wait = 1000, timer = 0, heard = 0, began = 0;

const address = (list) => `/live?${new URLSearchParams([["of", self.name], ...list.flatMap((t) => [["view", t.view], ["have", t.have]])])}`;
const fits = (t) => tabs.size < most && address([...tabs, t]).length < long;
const later = (ms) => { if (!timer) timer = setTimeout(open, ms); };

// at is where a page is: its view's life there, and the number of the newest patch.
const at = (text) => { const dot = text.lastIndexOf("."); return dot < 0 ? ["", 0] : [text.slice(0, dot), Number(text.slice(dot + 1))]; };

function open() {
  clearTimeout(timer);
  timer = 0;
  changed = false;
  next?.close();
  next = null;
  if (tabs.size === 0) {
    now?.close();
    now = null;
    return;
  }
  const list = [...tabs], source = new EventSource(address(list));
  next = source;
  began = Date.now();
  source.addEventListener("hello", (e) => {
    now?.close();
    now = source;
    next = null;
    wait = 1000;
    heard = Date.now();
    for (const t of list) {
      if (t.up) continue;
      t.up = true;
      t.say("open");
      t.say("hello", e.data);
    }
    if (changed) open();
  });
  source.addEventListener("beat", () => {
    heard = Date.now();
    for (const t of list) t.say("beat");
  });
  for (const name of ["patch", "at", "trouble", "gone"]) {
    source.addEventListener(name, (e) => {
      heard = Date.now();
      const [places, have] = e.lastEventId.split(" ");
      for (const place of places.split(",")) hand(list[place], name, e.data, have);
      if (name === "trouble") later(1000);
    });
  }
  source.onerror = () => {
    const refused = source.readyState === EventSource.CLOSED;
    source.close();
    if (source === next) next = null;
    if (source === now) now = null;
    if (!now && !next) lost();
    later(refused ? wait = Math.min(2 * wait, 60000) : 1000);
  };
}

// hand gives a tab what is new. While one stream takes over from another both may bring the same.
function hand(t, name, data, have) {
  if (!tabs.has(t)) return;
  if (name === "patch" || name === "at") {
    const [life, n] = at(have), [old, had] = at(t.have);
    if (life === old && n <= had) return;
    t.have = have;
  }
  if (name !== "at") t.say(name, data);
}

function lost() {
  for (const t of tabs) {
    t.up = false;
    t.say("lost");
  }
}

// join takes a tab in.
function join(t) {
  if (!fits(t)) return void t.say("full");
  tabs.add(t);
  t.say("tick");
  if (next) changed = true;
  else open();
}

function leave(t) {
  if (tabs.delete(t)) later(2000); // most who leave a page come to another one
}

setInterval(() => {
  for (const t of [...tabs]) {
    if (++t.quiet > silent) leave(t); // what it would be sent piles up
    else t.say("tick");
  }
  if (next ? Date.now() - began > deaf : now && Date.now() - heard > deaf) open();
}, tick);

// tabOf is a tab as one stream after another knows it; what it has is "" when nobody knows.
const tabOf = (port, view, have) => ({ view, have, up: false, quiet: 0, say: (name, data) => port.postMessage([name, data]) });

onconnect = (e) => {
  const port = e.ports[0];
  let t = null;
  port.onmessage = (m) => {
    const [word, view, have] = m.data;
    if (t) t.quiet = 0;
    if (word === "leave") {
      if (t) leave(t);
      t = null;
    } else if (word === "join") join(t = tabOf(port, view, have));
    else if (t && !tabs.has(t)) join(t = tabOf(port, t.view, "")); // it was asleep
  };
};
