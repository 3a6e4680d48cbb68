//go:build e2e

package browser

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is a page that a person looks at.
type tab struct {
	t    testing.TB
	ctx  context.Context
	base string // http://127.0.0.1:port
}

// enter opens a tab by the one-time link, which leaves a cookie in the browser.
func enter(t testing.TB, browser context.Context, s *served) *tab {
	t.Helper()
	x := newTab(t, browser, s)
	x.do(chromedp.Navigate(s.Link))
	x.until("the overview", `location.pathname === "/" && document.querySelector("main") !== null`)
	return x
}

// newTab is another tab of a browser.
func newTab(t testing.TB, browser context.Context, s *served) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // with a context that stays
		t.Fatalf("open a tab: %v", err)
	}
	return &tab{t: t, ctx: ctx, base: strings.TrimSuffix(s.URL, "/")}
}

// do carries steps out.
func (x *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience())
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		x.t.Fatalf("in the browser: %v\n%s", err, x.shown())
	}
}

func (x *tab) open(path string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience())
	defer cancel()
	for {
		// One that the answer to a form has overtaken either is told as aborted or never loads.
		try, stop := context.WithTimeout(ctx, patience()/8)
		err := chromedp.Do(try, chromedp.Navigate(x.base+path))
		stop()
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "ERR_ABORTED") && (try.Err() == nil || ctx.Err() != nil) {
			x.t.Fatalf("open %s: %v\n%s", path, err, x.shown())
		}
	}
}

// is evaluates a condition.
func (x *tab) is(js string) bool {
	ctx, cancel := context.WithTimeout(x.ctx, time.Minute)
	defer cancel()
	ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+js+")"))
	return err == nil && ok // while a page goes and the next comes there is no answer
}

// until waits for a condition.
func (x *tab) until(what, js string) {
	x.t.Helper()
	limit := time.After(patience())
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !x.is(js) {
		select {
		case <-limit:
			x.t.Fatalf("waited in vain for %s: %s\n%s", what, js, x.shown())
		case <-x.ctx.Done():
			x.t.Fatalf("the browser ended while waiting for %s: %v", what, context.Cause(x.ctx))
		case <-tick.C:
		}
	}
}

// says waits until what a selector finds says a text.
func (x *tab) says(selector, text string) {
	x.t.Helper()
	x.until(fmt.Sprintf("%s to say %q", selector, text),
		fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.innerText.replace(/\s+/g, " ").includes(%q))`, selector, text))
}

// lacks waits until nothing that a selector finds says a text.
func (x *tab) lacks(selector, text string) {
	x.t.Helper()
	x.until(fmt.Sprintf("%s not to say %q", selector, text),
		fmt.Sprintf(`![...document.querySelectorAll(%q)].some(e => e.innerText.replace(/\s+/g, " ").includes(%q))`, selector, text))
}

// click clicks what a selector finds, once it is there.
func (x *tab) click(selector string) {
	x.t.Helper()
	x.until(selector, fmt.Sprintf("document.querySelector(%q)", selector))
	x.do(chromedp.Click(chromedp.CSS(selector)))
}

// keys types keys as a person does, outside any field.
func (x *tab) keys(keys string) {
	x.t.Helper()
	x.do(chromedp.KeyEvent(keys))
}

// shown is the text on the page, for a failed test.
func (x *tab) shown() string {
	ctx, cancel := context.WithTimeout(x.ctx, time.Minute)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// complaints records what the browser complains about from now on: violations of the
// content security policy, errors of scripts, and requests to any other host.
func (x *tab) complaints() func() []string {
	x.t.Helper()
	var mu sync.Mutex
	var list []string
	x.do(chromedp.Steps())
	err := chromedp.Listen(x.ctx, func(ev any) {
		text := ""
		switch e := ev.(type) {
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
				text = "log: " + e.Entry.Text
			}
		case *runtime.EventExceptionThrown:
			text = "script: " + e.ExceptionDetails.Text
		case *network.EventRequestWillBeSent:
			if u := e.Request.URL; !strings.HasPrefix(u, x.base+"/") && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "about:") {
				text = "request to " + u
			}
		}
		if text != "" {
			mu.Lock()
			defer mu.Unlock()
			list = append(list, text)
		}
	})
	if err != nil {
		x.t.Fatal(err)
	}
	for _, enable := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); return err },
		func(ctx context.Context) error {
			_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
			return err
		},
	} {
		if err := enable(x.ctx); err != nil {
			x.t.Fatal(err)
		}
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}

// withoutScripts makes the tab one whose browser runs no scripts of pages.
func (x *tab) withoutScripts() {
	x.t.Helper()
	if _, err := chromedp.Call(x.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		x.t.Fatal(err)
	}
	x.do(chromedp.Reload())
}

// confirmed says yes where the page asks whether one is sure; some actions do not ask.
func (x *tab) confirmed(action string) {
	x.t.Helper()
	form := fmt.Sprintf(`dialog[open] form[action="/do/%s"]`, action)
	x.until("the answer of "+action, fmt.Sprintf("document.querySelector(%q) || document.querySelector('.toast')", form))
	if x.is(fmt.Sprintf("document.querySelector(%q)", form)) {
		x.click(form + " button")
	}
}
