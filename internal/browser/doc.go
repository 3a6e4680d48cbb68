// Package browser owns the proof that the dashboard works for people: a real browser
// over a real `ralph serve`, with engines at work on scripted agents. It holds only
// tests, behind the build tag e2e; `make e2e` brings the browser (RALPH_E2E_CHROMIUM
// names another one) and axe-core. It does not own what a page says: internal/web
// tests that.
package browser
