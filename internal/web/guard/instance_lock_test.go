package guard

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The secrets outlive the process, so that open pages go on; whoever serves is forgotten.
func TestSeat(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ralph", ".state")
	first, err := Take(dir)
	if err != nil || first.Renewed() {
		t.Fatal(err, first.Renewed())
	}
	was := first.record
	was.Last = "127.0.0.1:7777"
	if err := first.Announce(Running{Address: "127.0.0.1:7777", Pid: 7}); err != nil {
		t.Fatal(err)
	}
	if err := first.lock.Close(); err != nil { // what the kernel does when a process is killed
		t.Fatal(err)
	}
	second, err := Take(dir)
	if err != nil || second.record != was || second.Last() != was.Last || second.Renewed() {
		t.Fatalf("%+v %v, want %+v", second.record, err, was)
	}
	r, err := read(second.path)
	if err != nil || r.Address != "" || r.Pid != 0 {
		t.Errorf("a dead one's address is left: %+v %v", r, err)
	}
	if err := second.Leave(); err != nil {
		t.Fatal(err)
	}
	third, err := Take(dir)
	if err != nil || third.record != was {
		t.Errorf("after a good end: %+v %v", third.record, err)
	}
}

func TestBrokenSeat(t *testing.T) {
	t.Parallel()
	good := `"token":"` + random() + `","key":"` + random() + `"}`
	for _, test := range []struct {
		name, text string
		foreign    bool
	}{
		{"no JSON", "hello", false},
		{"cut", `{"version":1,"tok`, false},
		{"an array", "[]", false},
		{"no version", "{" + good, false},
		{"a short key", `{"version":1,"token":"` + random() + `","key":"abc"}`, false},
		{"a key that is no text", `{"version":1,"token":"` + random() + `","key":7}`, false},
		{"an odd token", `{"version":1,"token":"` + strings.Repeat("*", 43) + `","key":"` + random() + `"}`, false},
		{"a later version", `{"version":2,` + good, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, FileName)
			if err := os.WriteFile(path, []byte(test.text), 0o644); err != nil {
				t.Fatal(err)
			}
			s, err := Take(dir)
			if test.foreign {
				now, _ := os.ReadFile(path)
				if !errors.Is(err, ErrForeign) || string(now) != test.text {
					t.Fatalf("%v, the file is %s", err, now)
				}
				_ = os.Remove(path) // and the lock is free then
				if s, err = Take(dir); err != nil || s.Renewed() {
					t.Error(err)
				}
				return
			}
			if err != nil || !s.Renewed() {
				t.Fatalf("%v, renewed: %t", err, s.Renewed())
			}
			info, err := os.Stat(path)
			if r, readErr := read(path); readErr != nil || err != nil || info.Mode().Perm() != 0o600 || len(bytesOf(r.Token)) != secret || len(bytesOf(r.Key)) != secret || r.Key == r.Token {
				t.Errorf("%v %v %v", readErr, err, info.Mode())
			}
		})
	}
}

// S3, second pass of issue 15: bubblewrap hides the file by mounting over it. A new file put in
// its place would be seen, with its token, by every turn that is under way.
func TestSecretsStayTheSameFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	if err := os.WriteFile(path, nil, 0o644); err != nil { // as a sandbox makes it
		t.Fatal(err)
	}
	first, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Take(dir)
	if err != nil || s.Renewed() {
		t.Fatal("an empty file is none", err)
	}
	if err := s.Announce(Running{Address: "127.0.0.1:7777", Command: "serve"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		now, err := os.Stat(path)
		if err != nil || !os.SameFile(first, now) || now.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", now, err)
		}
		if r, err := read(path); err != nil || r.Token == "" {
			t.Errorf("%+v, %v", r, err)
		}
		if err := s.Leave(); err != nil {
			t.Fatal(err)
		}
		if s, err = Take(dir); err != nil {
			t.Fatal(err)
		}
	}
	_ = s.Leave()
	// What somebody else can write by another name is not written through.
	if err := os.Link(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	if s, err = Take(dir); err != nil {
		t.Fatal(err)
	}
	defer s.Leave() //nolint:errcheck // of the test
	if now, err := os.Stat(path); err != nil || os.SameFile(first, now) {
		t.Error("written through another name", err)
	}
}
