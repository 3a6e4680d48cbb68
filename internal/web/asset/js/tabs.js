// The stream of a page is that of all tabs of this browser: worker.js holds it. A page tells
// it `join` with its address and what it has, `leave`, and `here` in answer to each `tick`.
// It is told `open` and `lost` of the stream, and the stream's events; `full` when there is
// no more room. Where there is no such worker, or it does not answer, the page has a stream
// of its own: see away.js.
(() => {
  "use strict";
  const own = htmx.createEventSource; // away.js runs before
  if (!window.SharedWorker) return;
  const events = ["hello", "beat", "trouble", "gone", "patch"];
  const every = 5000, silence = 15000; // five ticks

  // Shared is like an EventSource.
  class Shared extends EventTarget {
    constructor(url) {
      super();
      this.url = url;
      this.query = new URL(url, location.href).searchParams;
      this.onopen = this.onerror = null;
      this.readyState = EventSource.CONNECTING;
      this.tries = 0;
      this.left = false;
      this.away = () => { this.left = true; this.say("leave"); };
      this.back = (e) => { if (e.persisted) this.join(""); };
      addEventListener("pagehide", this.away);
      addEventListener("pageshow", this.back);
      this.timer = setInterval(() => this.look(), every);
      this.join(this.query.get("have") ?? "");
    }
    say(...words) { this.port?.postMessage(words); }
    join(have) {
      this.heard = Date.now();
      this.left = false;
      this.port?.close();
      try {
        const worker = new SharedWorker(document.body.dataset.worker, { name: this.query.get("of") });
        worker.onerror = () => this.alone();
        this.port = worker.port;
      } catch {
        return this.alone();
      }
      this.port.onmessage = (m) => this.take(...m.data);
      this.say("join", this.query.get("view"), have);
    }
    take(word, data) {
      this.heard = Date.now();
      this.tries = 0;
      if (word === "tick") this.say("here");
      else if (word === "full") this.alone();
      else if (word === "open") {
        this.readyState = EventSource.OPEN;
        this.onopen?.(new Event("open"));
      } else if (word === "lost") {
        this.readyState = EventSource.CONNECTING;
        this.onerror?.(new Event("error"));
      } else this.dispatchEvent(new MessageEvent(word, { data }));
    }
    // look asks for a worker anew that says nothing, and does without one in the end.
    look() {
      if (this.left || Date.now() - this.heard < silence) return;
      this.say("leave");
      if (++this.tries > 1) this.alone();
      else this.join("");
    }
    end() {
      clearInterval(this.timer);
      removeEventListener("pagehide", this.away);
      removeEventListener("pageshow", this.back);
      this.say("leave");
      this.port?.close();
      this.port = null;
    }
    // alone goes on with a stream of its own.
    alone() {
      if (this.source || this.readyState === EventSource.CLOSED) return;
      this.end();
      const source = this.source = own(this.url.replace(/&have=[^&]*/, ""));
      source.onopen = (e) => { this.readyState = EventSource.OPEN; this.onopen?.(e); };
      source.onerror = (e) => { this.readyState = source.readyState; this.onerror?.(e); };
      for (const name of events) source.addEventListener(name, (e) => this.dispatchEvent(new MessageEvent(name, { data: e.data })));
    }
    close() {
      this.end();
      this.readyState = EventSource.CLOSED;
      this.source?.close();
    }
  }
  htmx.createEventSource = (url) => new Shared(url);
})();
