package worktree

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report/gates"
	"github.com/ralph-loop/ralph/internal/step"
)

// PatchFile is where the patch of a task's whole diff is kept.
func PatchFile(id ralph.TaskID) string {
	return filepath.Join(step.RecordsOf(id), "diff.patch")
}

// PatchChanges counts the lines in the patch that was kept of a task's whole
// diff; none when there is no patch.
func PatchChanges(root string, id ralph.TaskID) []gates.FileChange {
	f, err := os.Open(filepath.Join(root, PatchFile(id)))
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []gates.FileChange
	inHunk := false
	sc := bufio.NewScanner(f)
	sc.Buffer(make([]byte, 64<<10), 8<<20)
	for sc.Scan() {
		line := sc.Text()
		switch {
		case strings.HasPrefix(line, "diff --git "):
			out, inHunk = append(out, gates.FileChange{Path: patchPath(line)}), false
		case len(out) == 0:
		case strings.HasPrefix(line, "@@"):
			inHunk = true
		case inHunk && strings.HasPrefix(line, "+"):
			out[len(out)-1].Added++
		case inHunk && strings.HasPrefix(line, "-"):
			out[len(out)-1].Removed++
		}
	}
	return out
}

// patchPath is the new name in `diff --git a/old b/new`.
func patchPath(line string) string {
	line = strings.TrimPrefix(line, "diff --git ")
	if i := strings.LastIndex(line, " b/"); i >= 0 {
		return line[i+len(" b/"):]
	}
	if i := strings.LastIndex(line, ` "b/`); i >= 0 { // quoted: it has a character that git escapes
		return strings.TrimSuffix(line[i+len(` "b/`):], `"`)
	}
	return line
}
