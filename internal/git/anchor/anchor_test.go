package anchor

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// S9: anchors stand on each other, are found by their journal after `git gc`, and git
// signs them when that is wanted.
func TestAnchor(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	put := func(journal string, seq int64, sign bool) string {
		commit, err := Make(t.Context(), b.repo, Anchor{Journal: journal, Checkout: "here", Seq: seq, Hash: "ab"}, sign)
		b.Must(err)
		return commit
	}
	first, other := put("j1", 3, false), put("j2", 1, false)
	b.Git("pack-refs", "--all")
	second := put("j1", 9, false)
	b.Equal("parent", b.Git("rev-parse", second+"^"), first)
	b.Git("pack-refs", "--all")
	for journal, want := range map[string]string{"j1": second, "j2": other, "j3": "", "": ""} {
		got, err := Of(b.repo, journal)
		b.Must(err)
		b.Equal("anchor of "+journal, got, want)
	}
	want := map[string]Anchor{
		first:  {"j1", "here", 3, "ab", first, "N", ""},
		other:  {"j2", "here", 1, "ab", other, "N", ""},
		second: {"j1", "here", 9, "ab", second, "N", ""},
	}
	list, err := List(t.Context(), b.repo)
	b.Must(err)
	for _, a := range list {
		if a != want[a.Commit] {
			t.Errorf("%+v, want %+v", a, want[a.Commit])
		}
	}
	if len(list) != len(want) {
		t.Errorf("%d anchors, want %d", len(list), len(want))
	}
	b.Equal("status", b.Status(), "")
	b.Git("fsck", "--strict", "--no-dangling")
}

func TestAnchorSigned(t *testing.T) {
	t.Parallel()
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("there is no ssh-keygen to sign with")
	}
	b := newBox(t)
	key := filepath.Join(t.TempDir(), "key")
	if out, err := exec.CommandContext(t.Context(), keygen, "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b.Git("config", "gpg.format", "ssh")
	b.Git("config", "user.signingKey", key)
	public, err := os.ReadFile(key + ".pub")
	if err == nil {
		err = os.WriteFile(key+".allowed", append([]byte("ann@example.org "), public...), 0o600)
	}
	b.Must(err)
	b.Git("config", "gpg.ssh.allowedSignersFile", key+".allowed")
	if _, err := Make(t.Context(), b.repo, Anchor{Journal: "j1", Checkout: "here", Seq: 3, Hash: "ab"}, true); err != nil {
		t.Fatal(err)
	}
	list, err := List(t.Context(), b.repo)
	if err != nil || len(list) != 1 || list[0].Signature != "G" || list[0].Signer != "ann@example.org" {
		t.Errorf("%+v, %v", list, err)
	}
}

// A commit says which journal its receipt is of; one of before did not.
func TestTrailed(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Git("commit", "-q", "--allow-empty", "-m", "one\n\nRalph-Journal: j1\nRalph-Receipt: r1")
	b.Git("switch", "-q", "-c", "side")
	b.Git("commit", "-q", "--allow-empty", "-m", "two\n\nRalph-Receipt: r2")
	b.Git("switch", "-q", "-")
	b.Git("commit", "-q", "--allow-empty", "-m", "three: Ralph-Receipt: is no trailer here")
	list, err := ListTrailed(t.Context(), b.repo)
	b.Must(err)
	got := map[Trailed]bool{}
	for _, x := range list {
		x.Commit = ""
		got[x] = true
	}
	if len(list) != 2 || !got[Trailed{Journal: "j1", Receipt: "r1"}] || !got[Trailed{Receipt: "r2"}] {
		t.Errorf("%+v", list)
	}
}
