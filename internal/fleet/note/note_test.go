package note

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/internal/fleet/seal"
	"github.com/ralph-loop/ralph/internal/redact"
)

func sealerOf(t *testing.T, b byte) seal.Sealer {
	t.Helper()
	k, err := seal.New(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// With a key nothing of a note can be read, and what has another seal or none is refused; so does
// who has no key refuse what is sealed.
func TestSealed(t *testing.T) {
	t.Parallel()
	k, other := sealerOf(t, 1), sealerOf(t, 2)
	n := Note{Task: "t-1", Files: map[string][]byte{"ralph/specs/x.md": []byte("the secret plan")}}
	b, err := n.Encode(k)
	if err != nil || bytes.Contains(b, []byte("secret")) || !bytes.HasPrefix(b, []byte("ralph-sealed-")) {
		t.Fatalf("%v: %q", err, b)
	}
	if back, err := Decode(b, k); err != nil || string(back.Files["ralph/specs/x.md"]) != "the secret plan" {
		t.Errorf("back: %+v, %v", back, err)
	}
	for _, wrong := range []seal.Sealer{other, {}} {
		if _, err := Decode(b, wrong); !errors.Is(err, seal.ErrSealed) {
			t.Errorf("another key: %v", err)
		}
	}
	open, err := n.Encode(seal.Sealer{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(open, k); !errors.Is(err, seal.ErrSealed) {
		t.Errorf("not sealed at all, where a key is set: %v", err)
	}
}

// What a worker sends back goes into the records of its task and nowhere else, and what comes to
// a worker into ralph's own folders.
func TestFilesHaveTheirPlace(t *testing.T) {
	t.Parallel()
	folder := "ralph/.state/tasks/t-1"
	for name, ok := range map[string]bool{
		folder + "/1/output.log": true, folder + "/../t-2/1/x": false, "ralph/.state/journal.jsonl": false, "../x": false, "/etc/passwd": false,
		".git/hooks/post-checkout": false, "ralph/config.yaml": false, folder + "x/y": false,
	} {
		root := t.TempDir()
		err := Place(root, map[string][]byte{name: []byte("x")}, ForCoordinator(folder))
		if _, there := os.Stat(filepath.Join(root, name)); (err == nil) != ok || ok && there != nil {
			t.Errorf("%s: %v, %v", name, err, there)
		}
	}
	root, out := t.TempDir(), t.TempDir()
	if err := os.Symlink(out, filepath.Join(root, "ralph")); err != nil {
		t.Fatal(err)
	}
	if err := Place(root, map[string][]byte{folder + "/1/x": nil}, ForCoordinator(folder)); err == nil {
		t.Error("a link led out of the repository")
	}
	if err := Place(t.TempDir(), map[string][]byte{"ralph/hooks/pre-turn": nil}, ForWorker(folder)); err == nil {
		t.Error("a hook came to a worker")
	}
}

// Who follows an output while the turn goes on reads on where it stood when the turn's files come: the
// same file, made longer. What is another file has another one's place, and is never there by half.
func TestFilesGoOn(t *testing.T) {
	t.Parallel()
	const name = "ralph/.state/tasks/t-1/1/output.log"
	for _, tt := range []struct {
		there, comes string
		same         bool
	}{
		{"", "one\ntwo\n", true}, {"one\n", "one\ntwo\n", true}, {"one\n", "one\n", true}, {"one\ntwo\n", "one\n", false}, {"two\n", "one\ntwo\n", false},
	} {
		root := t.TempDir()
		at := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(tt.there), 0o600)); err != nil {
			t.Fatal(err)
		}
		before, err := os.Open(at)
		if err != nil {
			t.Fatal(err)
		}
		defer before.Close()
		if err := Place(root, map[string][]byte{name: []byte(tt.comes)}, ForCoordinator("ralph/.state/tasks/t-1")); err != nil {
			t.Fatal(err)
		}
		was, err := before.Stat()
		is, err2 := os.Stat(at)
		text, err3 := os.ReadFile(at)
		if err := errors.Join(err, err2, err3); err != nil || string(text) != tt.comes || os.SameFile(was, is) != tt.same {
			t.Errorf("%q after %q: %q, the same file: %v, %v", tt.comes, tt.there, text, os.SameFile(was, is), err)
		}
		if !tt.same && was.Size() != int64(len(tt.there)) {
			t.Errorf("%q after %q: who had opened the old one reads the new one", tt.comes, tt.there)
		}
	}
}

// The folder of a turn has the name that the worker gives it.
func TestTurnFolder(t *testing.T) {
	t.Parallel()
	for want, there := range map[string][]string{"5": {"4", "5.compact"}, "5.2": {"5"}, "5.3": {"5", "5.2", "6"}} {
		if got := Turn(5, there); got != want {
			t.Errorf("beside %v it is %s, want %s", there, got, want)
		}
	}
}

// What looks like a secret goes into no payload: in the work, or in a file or a setting beside it.
func TestSecretsDoNotTravelAsParcels(t *testing.T) {
	t.Parallel()
	r := redact.New([]redact.Secret{{Name: "TOKEN", Value: "a-secret-of-this-machine"}}, nil)
	for _, tt := range []struct {
		n    Note
		text string
		want bool
	}{
		{Note{}, "a line", true},
		{Note{}, "it is a-secret-of-this-machine", false},
		{Note{Files: map[string][]byte{"ralph/config.yaml": []byte("a-secret-of-this-machine")}}, "a line", false},
		{Note{Flags: map[string]string{"agent": "a-secret-of-this-machine"}}, "a line", false},
		{Note{}, "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n", false},
	} {
		if got := tt.n.MayTravel(r)(tt.text); got != tt.want {
			t.Errorf("%+v beside %q: %v", tt.n, tt.text, got)
		}
	}
}
