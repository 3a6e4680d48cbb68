package landing

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
)

// Conflict is what keeps two commits from being merged.
type Conflict struct {
	Files              []ConflictFile
	Base, Ours, Theirs string // commits; Base is "" when there is no common one
}

// ConflictFile is one path in conflict.
type ConflictFile struct {
	Path string
	// Kind is content, add/add, modify/delete, rename, binary, submodule,
	// file/directory, mode or symlink.
	Kind   string
	Said   string // git's own words, "" when it has none
	Marked string // both sides, with conflict markers where they differ; at most 64 KiB
}

const (
	maxMarked = 64 << 10 // of one file
	maxShown  = 1 << 20  // what is read of one version
	maxFiles  = 100      // that are shown; of the others the names
	around    = 8        // lines shown on either side of a conflict in a long file
)

// kind tells a conflict by git's documented name for it, and by the versions
// where one name stands for several.
func (m merged) kind(s staged) string {
	base, ours, theirs := s.stages[1], s.stages[2], s.stages[3]
	said := func(word string) bool { return m.about(s.path, word) != "" }
	link := func(mode string) bool { return base.Mode == mode || ours.Mode == mode || theirs.Mode == mode }
	both := ours.Mode != "" && theirs.Mode != ""
	switch {
	case said("CONFLICT (file/directory)"):
		return "file/directory"
	case link(git.ModeLink):
		return "submodule"
	case said("CONFLICT (rename"), said("directory rename"):
		return "rename"
	case link(git.ModeSymlink):
		return "symlink"
	case said("CONFLICT (binary)"):
		return "binary"
	case !both:
		return "modify/delete"
	case ours.ID == theirs.ID || said("CONFLICT (distinct modes)"):
		return "mode"
	case base.Mode == "":
		return "add/add"
	}
	return "content"
}

// about returns git's words about a path whose kind contains a word.
func (m merged) about(path, word string) string {
	for _, s := range m.said {
		if strings.Contains(s.kind, "CONFLICT") && strings.Contains(s.kind, word) && slices.Contains(s.paths, path) {
			return strings.TrimSpace(s.text)
		}
	}
	return ""
}

// conflict describes what is open, with the text of both sides.
func conflict(ctx context.Context, r *git.Repo, m merged, ours, theirs string) (*Conflict, error) {
	c := &Conflict{Ours: ours, Theirs: theirs}
	base, err := r.Line(ctx, git.Call{Args: []string{"merge-base", ours, theirs}})
	if err != nil && git.ExitOf(err) != 1 {
		return nil, fmt.Errorf("find where both sides began: %w", err)
	}
	c.Base = base
	texts, err := texts(ctx, r, m)
	if err != nil {
		return nil, fmt.Errorf("read both sides of a conflict: %w", err)
	}
	for i, s := range m.files {
		f := ConflictFile{Path: s.path, Kind: m.kind(s), Said: m.about(s.path, "")}
		if i < maxFiles {
			f.Marked = marks(s, f.Kind, m.result(s, f.Kind), texts)
		}
		c.Files = append(c.Files, f)
	}
	slices.SortFunc(c.Files, func(a, b ConflictFile) int { return cmp.Compare(a.Path, b.Path) })
	return c, nil
}

// result names the file with markers that git made of both sides, as an object's
// name, "" when the two have to be shown one after the other.
func (m merged) result(s staged, kind string) string {
	if kind != "content" && kind != "add/add" && kind != "rename" || strings.Contains(s.path, "\n") ||
		s.stages[2].Mode == "" || s.stages[3].Mode == "" {
		return ""
	}
	return m.tree + ":" + s.path
}

// texts reads what is shown of the conflicts, by name: sizes first, since a
// version may be of any size. What is missing or too large is not in the answer.
func texts(ctx context.Context, r *git.Repo, m merged) (map[string][]byte, error) {
	var names []string
	for _, s := range m.files[:min(len(m.files), maxFiles)] {
		if name := m.result(s, m.kind(s)); name != "" {
			names = append(names, name)
		}
		for _, v := range s.stages[2:] {
			if v.ID != "" && v.Mode != git.ModeLink {
				names = append(names, v.ID)
			}
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	ask := func(how string, names []string) (string, error) {
		return r.Run(ctx, git.Call{Args: []string{"cat-file", "-z", how}, Stdin: strings.Join(names, "\x00") + "\x00"})
	}
	out, err := ask("--batch-check", names)
	if err != nil {
		return nil, err
	}
	var small []string
	for i, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		if size, ok := blobSize(line); ok && size <= maxShown && i < len(names) {
			small = append(small, names[i])
		}
	}
	if len(small) == 0 {
		return nil, nil
	}
	if out, err = ask("--batch", small); err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	for _, name := range small {
		line, rest, _ := strings.Cut(out, "\n")
		size, ok := blobSize(line)
		if !ok || size+1 > len(rest) {
			return nil, fmt.Errorf("cannot read the answer of git cat-file: %.80q", line)
		}
		texts[name], out = []byte(rest[:size]), rest[size+1:]
	}
	return texts, nil
}

// blobSize reads "id blob size".
func blobSize(line string) (int, bool) {
	f := strings.Fields(line)
	if len(f) != 3 || f[1] != "blob" {
		return 0, false
	}
	size, err := strconv.Atoi(f[2])
	return size, err == nil
}

// marks returns the text that shows both sides of a conflict.
func marks(s staged, kind, result string, texts map[string][]byte) string {
	if text, ok := texts[result]; ok && kind != "binary" && !isBinary(text) && bytes.Contains(text, []byte("<<<<<<< ")) {
		return excerpt(string(text))
	}
	var b strings.Builder
	b.WriteString("<<<<<<< ours\n")
	b.WriteString(side(s.stages[2], texts))
	b.WriteString("=======\n")
	b.WriteString(side(s.stages[3], texts))
	b.WriteString(">>>>>>> theirs\n")
	return b.String()
}

// side is one version as text, or words for what cannot be shown.
func side(v git.TreeEntry, texts map[string][]byte) string {
	text, ok := texts[v.ID]
	switch {
	case v.Mode == "":
		return "(no such file here)\n"
	case v.Mode == git.ModeLink:
		return "(submodule at " + v.ID + ")\n"
	case !ok:
		return "(too large to show: object " + v.ID + ")\n"
	case isBinary(text):
		return fmt.Sprintf("(binary, %d bytes: object %s)\n", len(text), v.ID)
	}
	shown := cutLines(string(text), maxMarked/2-100)
	if shown != "" && !strings.HasSuffix(shown, "\n") {
		shown += "\n"
	}
	switch v.Mode {
	case git.ModeSymlink:
		return "(link to) " + shown
	case "100755":
		return "(executable)\n" + shown
	}
	return shown
}

// isBinary asks as git does: is there a zero byte near the beginning?
func isBinary(text []byte) bool { return bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 }

// excerpt keeps of a long text what is near its conflicts.
func excerpt(text string) string {
	if len(text) <= maxMarked {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	keep := make([]bool, len(lines))
	inside := false
	for i, line := range lines {
		mark := marker(line)
		inside = inside && mark != '>' || mark == '<'
		if inside || mark == '>' {
			for j := max(0, i-around); j <= min(len(lines)-1, i+around); j++ {
				keep[j] = true
			}
		}
	}
	var b strings.Builder
	for i, line := range lines {
		if keep[i] && (i == 0 || !keep[i-1]) {
			fmt.Fprintf(&b, "(line %d)\n", i+1)
		}
		if keep[i] {
			b.WriteString(line)
		}
	}
	return cutLines(b.String(), maxMarked)
}

// cutLines shortens a text to whole lines, and says so.
func cutLines(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const note = "(cut here)\n"
	text = text[:most-len(note)]
	return text[:strings.LastIndexByte(text, '\n')+1] + note
}

// marker returns which conflict marker a line is, 0 for none: git writes seven of
// a sign, or more where the attribute conflict-marker-size asks for them.
func marker(line string) byte {
	if line == "" || !strings.ContainsRune("<|>", rune(line[0])) {
		return 0
	}
	rest := strings.TrimLeft(line, line[:1])
	if n := len(line) - len(rest); n < 7 || rest != "" && !strings.ContainsAny(rest[:1], " \r\n") {
		return 0
	}
	return line[0]
}
