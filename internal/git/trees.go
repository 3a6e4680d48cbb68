package git

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrObject is an object that is not there, or is not what it should be.
var ErrObject = errors.New("object is missing or of another kind")

// Object reads an object of a kind.
func (r *Repo) Object(ctx context.Context, id, kind string) (string, error) {
	if text, err := r.ReadLoose(id, kind); err == nil {
		return text, nil
	}
	var text string
	none := false
	err := r.Ask(ctx, []byte(id+"\n"), func(out *bufio.Reader) error {
		line, err := out.ReadString('\n')
		if err != nil {
			return err
		}
		var got string
		var size int64
		if strings.HasSuffix(line, " missing\n") {
			none = true
			return nil
		}
		if _, err := fmt.Sscanf(line, "%s %s %d\n", new(string), &got, &size); err != nil {
			return fmt.Errorf("read what git has of %s: %q", id, line)
		}
		var b bytes.Buffer
		if got != kind || size > outputMost {
			none = true
			_, err = io.CopyN(io.Discard, out, size+1)
			return err
		}
		if _, err := io.CopyN(&b, out, size+1); err != nil {
			return err
		}
		text = b.String()[:size]
		return nil
	}, "cat-file", "--batch")
	if err == nil && none {
		err = fmt.Errorf("read the %s %s: %w", kind, id, ErrObject)
	}
	return text, err
}

// outputMost bounds one object that is read whole.
const outputMost = 64 << 20

// TreeAt is the tree of a commit, or the tree itself.
func (r *Repo) TreeAt(ctx context.Context, id string) (string, error) {
	if text, err := r.ReadLoose(id, "tree"); err == nil && text != "" {
		return id, nil
	}
	text, err := r.Object(ctx, id, "commit")
	if errors.Is(err, ErrObject) {
		_, err = r.Object(ctx, id, "tree")
		return id, err
	}
	if err != nil {
		return "", err
	}
	c, err := ParseCommit(text)
	return c.Tree, err
}

// Members are what a tree has, by name; none for "". They are nobody's to change.
func (r *Repo) Members(ctx context.Context, id string) (map[string]TreeEntry, error) {
	if id == "" {
		return nil, nil
	}
	if list, ok := r.trees.Of(id); ok {
		return list, nil
	}
	text, err := r.Object(ctx, id, "tree")
	if err != nil {
		return nil, err
	}
	list, ok := MembersIn(text, len(id)/2)
	if !ok {
		return nil, fmt.Errorf("read the tree %s: %w", id, ErrObject)
	}
	r.trees.Keep(id, list, len(list))
	return list, nil
}

// MembersIn reads a tree: mode, a space, name, a zero byte, id.
func MembersIn(text string, idLen int) (map[string]TreeEntry, bool) {
	members := map[string]TreeEntry{}
	for b := []byte(text); len(b) > 0; {
		head, rest, ok := bytes.Cut(b, []byte{0})
		mode, name, ok2 := bytes.Cut(head, []byte{' '})
		if !ok || !ok2 || len(rest) < idLen {
			return nil, false
		}
		members[string(name)] = TreeEntry{string(mode), hex.EncodeToString(rest[:idLen])}
		b = rest[idLen:]
	}
	return members, true
}

// TreeEntry is what a tree has under a name, without a mode for nothing.
type TreeEntry struct{ Mode, ID string }
