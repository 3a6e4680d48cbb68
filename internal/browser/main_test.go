//go:build e2e

package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// What TestMain finds and makes once for all tests.
const (
	builtKey    = "RALPH_BROWSER_BUILT" // the path of the ralph that all tests run
	chromiumKey = "RALPH_E2E_CHROMIUM"  // the path of the browser
	axeKey      = "RALPH_E2E_AXE"       // the path of axe.min.js
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if os.Getenv(chromiumKey) == "" {
			for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
				if path, err := exec.LookPath(name); err == nil {
					_ = os.Setenv(chromiumKey, path)
					break
				}
			}
		}
		if os.Getenv(chromiumKey) == "" {
			fmt.Fprintln(os.Stderr, "there is no chromium here: `.ci/run e2e` installs it")
			if os.Getenv("CI") != "" {
				return 1
			}
			return 0
		}
		if os.Getenv(builtKey) != "" {
			return m.Run() // whoever works on a test has built one
		}
		dir, err := os.MkdirTemp("", "ralph-browser-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary := filepath.Join(dir, "ralph")
		if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/ralph").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build ralph: %v\n%s", err, out)
			return 1
		}
		_ = os.Setenv(builtKey, binary)
		return m.Run()
	}())
}

// newBrowser starts a browser of the test's own, which knows no host but this one.
func newBrowser(t testing.TB) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(os.Getenv(chromiumKey)), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 900), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Env("HOME="+t.TempDir()), chromedp.Env("TZ=UTC"),
	)
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	if ctx, cancel = chromedp.NewContext(ctx); chromedp.Do(ctx) != nil { // its tab holds the browser
		t.Fatalf("start the browser: %v", context.Cause(ctx))
	}
	t.Cleanup(cancel)
	return ctx
}
