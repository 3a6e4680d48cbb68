package unchanged

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/ralph-loop/ralph/internal/git/index"
)

// indexed is an index that can be compared with files.
type indexed struct {
	paths   []string
	stamps  []stamp // as the index has them: without dev
	ids     [][]byte
	entries map[string]bool // of paths
	folders map[string]bool // that have one of them below
}

// readIndexed reads an index; ok is false where only git can tell whether files are as in it.
func readIndexed(b []byte, idLen int) (x indexed, ok bool) {
	const assumeValid = 0x8000
	x.entries, x.folders = map[string]bool{}, map[string]bool{"": true}
	rest, err := index.Each(b, idLen, func(e index.Entry) error {
		if e.Flags&(index.StageBits|assumeValid|index.Extended) != 0 || e.Mode()&typeBits == typeModule || bytes.HasSuffix(e.Path, []byte("/")) {
			return index.ErrOther
		}
		field := func(n int) uint32 { return binary.BigEndian.Uint32(e.Raw[4*n:]) }
		path := string(e.Path)
		x.paths, x.ids, x.entries[path] = append(x.paths, path), append(x.ids, e.ID(idLen)), true
		x.stamps = append(x.stamps, stamp{
			changed: instant{int64(field(0)), int64(field(1))}, written: instant{int64(field(2)), int64(field(3))},
			ino: uint64(field(5)), mode: field(6), uid: field(7), gid: field(8), size: int64(field(9)),
		})
		for dir := parent(path); !x.folders[dir]; dir = parent(strings.TrimSuffix(dir, "/")) {
			x.folders[dir] = true
		}
		return nil
	})
	return x, err == nil && new(index.Entries).Extensions(rest, idLen) == nil && len(x.paths) > 0
}

// parent is the folder that a path is in, with a slash at its end.
func parent(path string) string { return path[:strings.LastIndexByte(path, '/')+1] }
