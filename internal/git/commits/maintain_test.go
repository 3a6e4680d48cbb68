package commits

import (
	"path/filepath"
	"testing"
)

// What Commit leaves out is made up for at the end: git packs when its own
// settings say so, and not before.
func TestMaintain(t *testing.T) {
	t.Parallel()
	packs := func(b *testRepo) int {
		found, err := filepath.Glob(filepath.Join(b.Dir, ".git/objects/pack/*.pack"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	b := newBox(t)
	if err := Maintain(t.Context(), b.repo); err != nil {
		t.Fatal(err)
	}
	if n := packs(b); n != 0 {
		t.Errorf("%d packs although nothing is due", n)
	}
	// git estimates from the objects in one folder of 256.
	b.Git("config", "gc.auto", "1")
	b.Git("config", "gc.autoDetach", "false")
	b.Git("config", "maintenance.autoDetach", "false")
	for i := range 400 {
		b.Write("many/"+string(rune('a'+i%26))+string(rune('a'+i/26)), string(rune('0'+i%10))+string(rune('a'+i/10)))
	}
	b.Git("add", "-A")
	b.Git("-c", "maintenance.auto=false", "commit", "-q", "-m", "many")
	if err := Maintain(t.Context(), b.repo); err != nil {
		t.Fatal(err)
	}
	if n := packs(b); n == 0 {
		t.Error("no pack although one is due")
	}
}
