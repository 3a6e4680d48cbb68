package codex

import (
	"slices"
	"testing"

	"github.com/ralph-loop/ralph"
)

// E-077: where a file is moved to is changed as well, and the right to write in a whole
// folder is more than a change of files.
func TestCodexAskPaths(t *testing.T) {
	t.Parallel()
	c := readCodexItem([]byte(`{"type":"fileChange","id":"c1","changes":[{"path":"/w/a","kind":{"type":"update","move_path":"/w/.git/hooks/pre-commit"},"diff":""},` +
		`{"path":"/w/b","kind":{"type":"update","move_path":null}},{"path":"/w/c","kind":"add"}]}`))
	i := c.item("fileChange")
	if want := []string{"/w/a", "/w/.git/hooks/pre-commit", "/w/b", "/w/c"}; !slices.Equal(i.Files, want) {
		t.Errorf("files %q", i.Files)
	}
	turn := &turn{edits: map[string]edit{"c1": {files: i.Files}}}
	if q := turn.askEdit(readParams([]byte(`{"itemId":"c1"}`))).request; q.Op != ralph.OpEdit || !slices.Equal(q.Paths, i.Files) {
		t.Errorf("%+v", q)
	}
	if q := turn.askEdit(readParams([]byte(`{"itemId":"c1","grantRoot":"/w"}`))).request; q.Op != ralph.OpPermissions || !slices.Contains(q.Paths, "/w") {
		t.Errorf("%+v", q)
	}
}
