// Package index reads the file in which git keeps what is staged (gitformat-index), and works out the
// trees that its entries make. It reads bytes: whose file it is, and what git has to be asked when
// it is of another kind, is package git's.
package index

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
)

// ErrOther is an index file that only git itself can read.
var ErrOther = errors.New("index file is of another kind")

// Entries is what ralph reads from an index file itself, in place of a process.
type Entries struct {
	Own      string // mode, id, stage and path of each entry of ralph's own files
	Unmerged []string
	Tree     string // of all entries together, "" when it has yet to be written
	trees    []byte // what git has noted of it, and of each folder's
}

// Layout of an index entry (gitformat-index): ten 32-bit fields of stat data,
// the seventh of them the mode, then the object id, flags, the path.
const (
	ModeAt    = 24
	IDAt      = 40
	Extended  = 0x4000 // flag: 16 more bits of flags follow
	StageBits = 0x3000
	pathBits  = 0x0fff
)

// Entry is one entry as it lies in an index file.
type Entry struct {
	Raw   []byte // from its first field on
	Flags uint16
	Path  []byte // valid until the next entry
}

// Mode and ID are what git has noted of the file; an ID has idLen bytes and lies in Raw.
func (e Entry) Mode() uint32        { return binary.BigEndian.Uint32(e.Raw[ModeAt:]) }
func (e Entry) ID(idLen int) []byte { return e.Raw[IDAt : IDAt+idLen] }

// Read parses an index of version 2 to 4. A split or sparse index, which
// does not hold all entries by itself, gives errIndex.
func Read(b []byte, idLen int, own func(path string) bool) (Entries, error) {
	var e Entries
	if len(b) == 0 {
		return e, nil // no index file: an empty index
	}
	var mine strings.Builder
	rest, err := Each(b, idLen, func(x Entry) error {
		stage := x.Flags & StageBits
		if stage != 0 && (len(e.Unmerged) == 0 || e.Unmerged[len(e.Unmerged)-1] != string(x.Path)) {
			e.Unmerged = append(e.Unmerged, string(x.Path))
		}
		if (x.Path[0] == 'r' || x.Path[0] == 'b') && own(string(x.Path)) {
			mine.Write(x.Raw[ModeAt : ModeAt+4])
			mine.Write(x.Raw[IDAt : IDAt+idLen+2])
			mine.Write(x.Path)
			mine.WriteByte(0)
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	e.Own = mine.String()
	return e, e.Extensions(rest, idLen)
}

// Links are the paths of repositories that an index file names, in order.
func Links(b []byte, idLen int) (paths []string, err error) {
	rest, err := Each(b, idLen, func(x Entry) error {
		if x.Mode() == 0o160000 {
			paths = append(paths, string(x.Path))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var e Entries
	return paths, e.Extensions(rest, idLen)
}

// Each visits the entries of an index file in order, and returns the
// extensions behind them.
func Each(b []byte, idLen int, visit func(Entry) error) (rest []byte, err error) {
	if len(b) < 12+idLen || string(b[:4]) != "DIRC" {
		return nil, ErrOther
	}
	version, count := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if version < 2 || version > 4 {
		return nil, ErrOther
	}
	var path []byte
	rest = b[12 : len(b)-idLen]
	for range count {
		if len(rest) < IDAt+idLen+4 {
			return nil, ErrOther
		}
		flags := binary.BigEndian.Uint16(rest[IDAt+idLen:])
		at := IDAt + idLen + 2
		if flags&Extended != 0 {
			at += 2
		}
		var size int
		if path, size = entryPath(rest, at, version, path); size == 0 {
			return nil, ErrOther
		}
		if err := visit(Entry{rest, flags, path}); err != nil {
			return nil, err
		}
		rest = rest[size:]
	}
	return rest, nil
}

// entryPath returns the path that begins at an offset of the entry, and the
// size of the whole entry, 0 when it does not fit.
func entryPath(entry []byte, at int, version uint32, before []byte) (path []byte, size int) {
	if at >= len(entry) {
		return nil, 0
	}
	if version < 4 {
		n := bytes.IndexByte(entry[at:], 0)
		if n <= 0 {
			return nil, 0
		}
		size = (at + n + 8) &^ 7 // one to eight zero bytes
		if size > len(entry) {
			return nil, 0
		}
		return entry[at : at+n], size
	}
	// Version 4: how much of the path before to drop, then what to append.
	drop, at := offset(entry, at)
	n := bytes.IndexByte(entry[at:], 0)
	if n < 0 || drop > len(before) {
		return nil, 0
	}
	path = append(bytes.Clone(before[:len(before)-drop]), entry[at:at+n]...)
	if len(path) == 0 {
		return nil, 0
	}
	return path, at + n + 1
}

// offset reads a number as in the offset deltas of pack files.
func offset(b []byte, at int) (n, next int) {
	n = int(b[at] & 0x7f)
	for b[at]&0x80 != 0 && at+1 < len(b) {
		at++
		n = (n+1)<<7 | int(b[at]&0x7f)
	}
	return n, at + 1
}

// Extensions reads the tree that git has noted, and looks for Extensions that
// move entries elsewhere.
func (e *Entries) Extensions(rest []byte, idLen int) error {
	for len(rest) >= 8 {
		size := int(binary.BigEndian.Uint32(rest[4:]))
		if size > len(rest)-8 {
			return ErrOther
		}
		switch name, body := string(rest[:4]), rest[8:8+size]; name {
		case "link", "sdir":
			return ErrOther
		case "TREE":
			e.Tree, e.trees = rootTree(body, idLen), body
		}
		rest = rest[8+size:]
	}
	return nil
}

// rootTree reads the first record of the cached trees: an empty path, the
// number of entries (negative: changed since) and of subtrees, the id.
func rootTree(body []byte, idLen int) string {
	counts, id, ok := bytes.Cut(body, []byte("\n"))
	if !ok || len(counts) < 2 || counts[0] != 0 || counts[1] == '-' || len(id) < idLen {
		return ""
	}
	return hex.EncodeToString(id[:idLen])
}

// written are the ids of all trees that git has noted as written: each record is a name, a
// zero byte, the number of entries (negative: changed since) and of subtrees, the id.
func (e *Entries) written(idLen int) map[string]bool {
	ids := map[string]bool{}
	for rest := e.trees; len(rest) > 0; {
		_, after, ok := bytes.Cut(rest, []byte{0})
		counts, id, ok2 := bytes.Cut(after, []byte("\n"))
		if !ok || !ok2 || len(counts) == 0 {
			break
		}
		rest = id
		if counts[0] == '-' {
			continue
		}
		if len(id) < idLen {
			break
		}
		ids[hex.EncodeToString(id[:idLen])], rest = true, id[idLen:]
	}
	return ids
}
