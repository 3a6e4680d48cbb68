package git

import (
	"path/filepath"
	"testing"
)

// What Commit leaves out is made up for at the end: git packs when its own
// settings say so, and not before.
func TestMaintain(t *testing.T) {
	t.Parallel()
	packs := func(b *testRepo) int {
		found, err := filepath.Glob(filepath.Join(b.dir, ".git/objects/pack/*.pack"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	b := newBox(t)
	if err := b.repo.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := packs(b); n != 0 {
		t.Errorf("%d packs although nothing is due", n)
	}
	// git estimates from the objects in one folder of 256.
	b.git("config", "gc.auto", "1")
	b.git("config", "gc.autoDetach", "false")
	b.git("config", "maintenance.autoDetach", "false")
	for i := range 400 {
		b.write("many/"+string(rune('a'+i%26))+string(rune('a'+i/26)), string(rune('0'+i%10))+string(rune('a'+i/10)))
	}
	b.git("add", "-A")
	b.git("-c", "maintenance.auto=false", "commit", "-q", "-m", "many")
	if err := b.repo.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := packs(b); n == 0 {
		t.Error("no pack although one is due")
	}
}
