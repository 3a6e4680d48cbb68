package trust_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/trust"
)

// S8: what is trusted is the content, in one repository, kept outside of it for its user alone.
func TestTrust(t *testing.T) {
	t.Parallel()
	home, root, other := t.TempDir(), t.TempDir(), t.TempDir()
	s := trust.Open([]string{"HOME=" + home})
	if want := filepath.Join(home, ".local/share/ralph/trust.json"); s.Path() != want {
		t.Fatalf("%s, want %s", s.Path(), want)
	}
	hook := trust.Item{Key: "hook a", Hash: "1"}
	if r, ok, err := s.Known(root); ok || err != nil || r.Of(hook) != trust.New {
		t.Error(r, ok, err)
	}
	if err := s.Trust(root, []trust.Item{hook}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	r, ok, err := s.Known(link)
	if !ok || err != nil || r.Of(hook) != trust.Trusted || r.Of(trust.Item{Key: "hook a", Hash: "2"}) != trust.Changed || r.Of(trust.Item{Key: "hook b", Hash: "1"}) != trust.New {
		t.Error(r, ok, err)
	}
	if got := r.Missing([]trust.Item{hook, {Key: "hook b"}}); len(got) != 1 || got[0].Key != "hook b" {
		t.Error(got)
	}
	if _, ok, _ := s.Known(other); ok {
		t.Error("another repository is known")
	}
	if info, err := os.Stat(s.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if known, err := s.Revoke(root); !known || err != nil {
		t.Error(known, err)
	}
	if _, ok, _ := s.Known(root); ok {
		t.Error("it is still known")
	}
}

// Where there is no place nothing is known, and nothing is said to be kept.
func TestNowhere(t *testing.T) {
	t.Parallel()
	for _, environ := range [][]string{nil, {"HOME="}, {"HOME=here", "XDG_DATA_HOME=there"}} {
		s := trust.Open(environ)
		if err := s.Trust("/r", nil, time.Time{}); !errors.Is(err, trust.ErrNowhere) {
			t.Error(environ, err)
		}
		if _, ok, err := s.Known("/r"); ok || err != nil {
			t.Error(environ, ok, err)
		}
	}
	if s := trust.Open([]string{"HOME=/h", "XDG_DATA_HOME=/d"}); s.Path() != "/d/ralph/trust.json" {
		t.Error(s.Path())
	}
}

// Several who say yes at the same moment lose nothing, and a file that is broken trusts nothing.
func TestAtTheSameTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := trust.Open([]string{"XDG_DATA_HOME=" + dir})
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			if err := s.Trust("/r", []trust.Item{{Key: fmt.Sprint(n), Hash: "1"}}, time.Time{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if r, _, err := s.Known("/r"); err != nil || len(r.Items) != 20 {
		t.Error(len(r.Items), err)
	}
	for _, text := range []string{"{", `{"version": 2}`} {
		if err := os.WriteFile(s.Path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := s.Known("/r"); ok || err == nil {
			t.Errorf("%s: %v %v", text, ok, err)
		}
	}
}
