//go:build e2e

package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// Whoever is second at a gate sees who was first and how, and keeps the words that were
// typed but not sent; the key d leads to the reason (X-75, C-039).
func TestTheFirstAnswerAtAGateWins(t *testing.T) {
	t.Parallel()
	p := newPlace(t, asking, asks, "parallel=1")
	p.plan(`{"id":"t-aaaa","name":"paint"}`)
	s := p.serve("127.0.0.1:0")
	x := enter(t, newBrowser(t), s)
	complaints := x.complaints()
	engine := p.start("autopilot", "--parallel", "1")
	x.says("#needs", "touch made.txt")
	id := p.gate()
	x.open("/gate/" + id)
	x.says("#ask", "touch made.txt")
	x.keys("d")
	reason := "#text-deny-" + id
	x.until("the reason to have the focus", `document.activeElement.id === "text-deny-`+id+`"`)
	x.do(chromedp.SendKeys(chromedp.CSS(reason), "not in this folder"))
	p.ralph("approve", id)
	x.says("#head", "approved")
	x.says("#head", "cli")
	x.says("#decide", "Your words are still here")
	x.until("the words to be there", `document.querySelector("`+reason+`").value.endsWith("not in this folder")`)
	x.until("no button to send them", `[...document.querySelectorAll("#decide button")].every((b) => b.disabled)`)
	x.open("/gate/" + id)
	x.until("nothing that was not sent on a page without words", `!document.querySelector("#decide .card").offsetParent`)
	if list := complaints(); len(list) > 0 {
		t.Errorf("the browser complains: %q", list)
	}
	p.stopEngine()
	<-engine.done
}
