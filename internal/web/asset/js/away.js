// The stream of a page that has one of its own, where tabs.js cannot share one. A browser
// holds six connections to one host, and each page's stream is one of them: with
// a handful of tabs nothing would answer any more. Pages that nobody sees share three
// streams, so that their titles go on telling what happens; each more gives its own back
// after a moment, and takes it again, with all that changed, when it is seen.
(() => {
  "use strict";
  const after = 5000, unseen = 3;
  // Stream is an EventSource that can rest.
  class Stream {
    constructor(url) {
      this.url = url;
      this.heard = [];
      this.onopen = this.onerror = null;
      this.seen = () => {
        clearTimeout(this.timer);
        this.free?.();
        this.free = null;
        if (document.visibilityState === "visible") this.open();
        else this.timer = setTimeout(() => this.hide(unseen), after);
      };
      document.addEventListener("visibilitychange", this.seen);
      this.open();
      this.seen();
    }
    get readyState() { return this.source ? this.source.readyState : this.over ? EventSource.CLOSED : EventSource.CONNECTING; }
    open() {
      if (this.source || this.over) return;
      const source = this.source = new EventSource(this.url);
      source.onopen = (e) => this.onopen?.(e);
      source.onerror = (e) => {
        if (source.readyState === EventSource.CLOSED) this.end(); // whoever opened this opens another one
        this.onerror?.(e);
      };
      for (const [name, fn] of this.heard) source.addEventListener(name, fn);
    }
    // hide keeps the stream if one of n places is free for it.
    hide(n) {
      if (document.visibilityState === "visible" || this.over) return;
      if (n === 0 || !navigator.locks) return this.rest();
      navigator.locks.request(`unseen-${n}`, { ifAvailable: true }, (lock) => {
        if (!lock) return void this.hide(n - 1);
        if (document.visibilityState !== "visible" && !this.over) return new Promise((free) => { this.free = free; });
      });
    }
    rest() {
      this.source?.close();
      this.source = null;
    }
    addEventListener(name, fn) {
      if (this.heard.some(([n, f]) => n === name && f === fn)) return;
      this.heard.push([name, fn]);
      this.source?.addEventListener(name, fn);
    }
    removeEventListener(name, fn) {
      this.heard = this.heard.filter(([n, f]) => n !== name || f !== fn);
      this.source?.removeEventListener(name, fn);
    }
    end() {
      this.over = true;
      clearTimeout(this.timer);
      document.removeEventListener("visibilitychange", this.seen);
      this.free?.();
    }
    close() {
      this.end();
      this.rest();
    }
  }
  htmx.createEventSource = (url) => new Stream(url);
})();
