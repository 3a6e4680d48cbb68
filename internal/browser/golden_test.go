//go:build e2e

package browser

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the pictures of internal/browser/testdata/golden anew") //nolint:gochecknoglobals // a flag of the tests

// The pages that people look at most look as they did: at three widths, in both themes.
// What differs from run to run is made the same first.
func TestGoldenPictures(t *testing.T) {
	t.Parallel()
	p, s := settled(t)
	x := enter(t, newBrowser(t), s)
	out := ""
	for _, page := range p.addresses() {
		switch name := strings.ReplaceAll(page[0], "gate of a operation", "gate"); name {
		case "overview", "plan", "graph", "task", "gate", "history", "settings":
			for _, wide := range []int64{390, 1024, 1600} {
				x.size(wide, 1000)
				x.open(page[1])
				x.until("the page", `document.readyState === "complete" && document.querySelector("main h1")`)
				for _, theme := range []string{"light", "dark"} {
					x.theme(theme)
					why, got, diff := x.picture(fmt.Sprintf("%s-%d-%s", name, wide, theme))
					if why == "" {
						continue
					}
					if out == "" {
						out = kept(t)
					}
					file := filepath.Join(out, fmt.Sprintf("%s-%d-%s", name, wide, theme))
					save(t, file+".png", got)
					save(t, file+"-difference.png", diff)
					t.Errorf("%s at %d px, %s: %s: see %s*.png; -update writes the picture anew", name, wide, theme, why, file)
				}
			}
		}
	}
}

// kept is a folder for pictures that outlives the test; RALPH_E2E_PICTURES names it.
func kept(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("RALPH_E2E_PICTURES")
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "ralph-pictures")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func save(t *testing.T, path string, m image.Image) {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// alike makes the page the same in each run: the stream is ended, times and random words
// are fixed ones, what grows with time is not shown.
const alike = `(() => {
  document.documentElement.classList.add("js");
  if (!window.wasAlike) {
    window.wasAlike = true;
    htmx.trigger(document.body, "htmx:beforeCleanupElement");
    window.setInterval = () => 0;
    for (let i = 1; i < 100; i++) clearInterval(i);
    for (const image of document.querySelectorAll("svg.chart > *, .spark > *")) image.setAttribute("visibility", "hidden");
  }
  document.activeElement?.blur();
  const fixed = (text) => text
    .replace(/s-\d{8}T\d{6}Z-\w{4}/g, "s-20260101T090000Z-aaaa")
    .replace(/\b([grq])-(?=\w*\d|\w{4}\b)\w{4}\b/g, "$1-aaaa")
    .replace(/ralph\/merged-\w{4}/g, "ralph/merged-aaaa")
    .replace(/\b[0-9a-f]{7,40}\b/g, (h) => "abcdef0123456789".repeat(3).slice(0, h.length))
    .replace(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?/g, "2026-01-01 09:00:00")
    .replace(/\b\d\d:\d\d(:\d\d)?\b/g, "09:00")
    .replace(/\b\d+(\.\d+)? ?(ms|s)\b/g, "1s")
    .replace(/\b\d+m \d\ds?\b/g, "1s")
    .replace(/\bpid \d+/g, "pid 1")
    .replace(/\/tmp\/\S+\/ralph\b/g, "ralph")
    .replace(/\d+ (bytes|facts)/g, "100 $1");
  for (const time of document.querySelectorAll("time")) { time.removeAttribute("title"); if (time.textContent !== "09:00") time.textContent = "09:00"; }
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n; n = walk.nextNode()) { const t = fixed(n.data); if (t !== n.data) n.data = t; }
  for (const list of document.querySelectorAll(".feed-list")) { // what goes on at the same time comes in any order
    const lines = [...list.children].sort((a, b) => a.textContent < b.textContent ? -1 : 1);
    if (lines.some((line, i) => line !== list.children[i])) list.append(...lines);
  }
  window.scrollTo(0, 0);
  return true;
})()`

// picture compares the page with its picture in testdata/golden, or writes that.
func (x *tab) picture(name string) (string, image.Image, image.Image) {
	x.t.Helper()
	x.until("the page to stand still", alike)
	x.until("the page to be drawn", `document.fonts.status === "loaded" && document.getAnimations().every((a) => a.playState !== "running")`)
	x.until("the page to be the same", alike)
	shot, err := chromedp.Run(x.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		x.t.Fatal(err)
	}
	got, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		x.t.Fatal(err)
	}
	path := filepath.Join("testdata", "golden", name+".png")
	if *update {
		file, err := small(got)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, file, 0o644)
		}
		if err != nil {
			x.t.Fatal(err)
		}
		return "", nil, nil
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return "there is no such picture: -update makes it", got, got
	}
	want, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		x.t.Fatal(err)
	}
	why, diff := compare(want, got)
	return why, got, diff
}
