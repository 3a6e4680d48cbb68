//go:build e2e

package browser

import (
	"fmt"
	"strings"
	"testing"
)

// Issue 16.6: a page is shown as it was after any fact. The slider of a live page leads
// there; then each move of it brings the page of that moment, nothing can be done, links
// stay in that time, and Now leads back.
func TestAPageAsItWas(t *testing.T) {
	t.Parallel()
	_, s := settled(t)
	x := enter(t, newBrowser(t), s)
	complaints := x.complaints()
	x.open("/plan")
	x.until("the history to be read", `document.querySelector("#past-at[data-leave]")`)
	move := func(to string) {
		t.Helper()
		x.text(fmt.Sprintf(`(() => { const r = document.getElementById("past-at"); r.value = %s; for (const e of ["input", "change"]) r.dispatchEvent(new Event(e, {bubbles: true})); return ""; })()`, to))
	}
	// Into the past: the first facts, when no task had begun.
	move(`Number(r.min) + 1`)
	x.until("the page of then", `location.search.includes("at=") && document.querySelector("#past-when[data-at]")`)
	x.says("#past-when", "As it was after fact")
	x.lacks("main", "Broken time zone table failed")
	if n := x.text(`String(document.querySelectorAll("main form[method=post], header form[method=post]").length)`); n != "0" {
		t.Errorf("%s forms can be sent from the past", n)
	}
	before := x.text(`document.querySelector(".sections").innerText`)
	// On: the same page changes in place, without being loaded anew.
	x.text(`String(window.stays = true)`)
	move(`r.max`)
	x.until("the page of later", `document.querySelector(".sections").innerText !== `+fmt.Sprintf("%q", before)+` && window.stays && location.search.includes("at=" + document.getElementById("past-at").max)`)
	x.says("main", "Broken time zone table")
	// A step back by its key, a link within that time, and back to now.
	x.keys(",")
	x.until("one fact earlier", `Number(new URLSearchParams(location.search).get("at")) === Number(document.getElementById("past-at").max) - 1`)
	x.click(`a[href^="/task/t-0001"]`)
	x.until("the task as it was", `location.pathname === "/task/t-0001" && location.search.includes("at=")`)
	x.says("#past-when", "As it was")
	x.click(`#past-when a[data-now]`)
	x.until("the task as it is", `location.pathname === "/task/t-0001" && !location.search.includes("at=") && document.querySelector("#past-at[data-leave]")`)
	if list := complaints(); len(list) > 0 {
		t.Errorf("the browser complains:\n%s", strings.Join(list, "\n"))
	}
}
