package git

import (
	"bufio"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxObject bounds what is read of a commit object.
const maxObject = 4 << 20

// commitObject is what ralph needs to know of a commit.
type commitObject struct {
	tree    string
	parents []string
	message string
	amended bool // somebody made it anew later: git keeps when it was written at first
}

// carries reports whether the message has the line, as a trailer is.
func (c commitObject) carries(line string) bool { return hasLine(c.message, line) }

func hasLine(message, line string) bool {
	for l := range strings.Lines(message) {
		if strings.TrimRight(l, "\r\n") == line {
			return true
		}
	}
	return false
}

// TreeOf returns the tree of a commit. It reads the object's file itself while
// it is loose, as new ones are, and asks git otherwise.
func (r *Repo) TreeOf(ctx context.Context, commit string) (string, error) {
	c, err := r.commit(ctx, commit)
	if err != nil {
		return "", fmt.Errorf("read tree of commit: %w", err)
	}
	return c.tree, nil
}

func (r *Repo) commit(ctx context.Context, hash string) (commitObject, error) {
	if err := checkHash("commit", hash); err != nil {
		return commitObject{}, err
	}
	text, err := r.object(ctx, hash, "commit")
	if err != nil {
		return commitObject{}, err
	}
	return parseCommit(text)
}

func (r *Repo) looseCommit(hash string) (string, error) { return r.loose(hash, "commit") }

func (r *Repo) loosePath(hash string) string {
	return filepath.Join(r.common, "objects", hash[:2], hash[2:])
}

// loose reads objects/ab/cdef...: zlib of "<kind> <size>\x00<text>".
func (r *Repo) loose(hash, kind string) (string, error) {
	f, err := os.Open(r.loosePath(hash))
	if err != nil {
		return "", err
	}
	defer f.Close()
	z, err := zlib.NewReader(bufio.NewReader(f))
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(z, maxObject+1))
	if err != nil {
		return "", err
	}
	head, text, ok := strings.Cut(string(b), "\x00")
	if !ok || !strings.HasPrefix(head, kind+" ") || len(b) > maxObject {
		return "", fmt.Errorf("object %s is no %s of a size to read", hash, kind)
	}
	return text, nil
}

func parseCommit(text string) (commitObject, error) {
	head, message, _ := strings.Cut(text, "\n\n")
	c := commitObject{message: message}
	var written, made string
	for line := range strings.SplitSeq(head, "\n") {
		name, value, _ := strings.Cut(line, " ")
		switch name {
		case "tree":
			c.tree = value
		case "parent":
			c.parents = append(c.parents, value)
		case "author":
			written = value[strings.LastIndexByte(value, '>')+1:]
		case "committer":
			made = value[strings.LastIndexByte(value, '>')+1:]
		}
	}
	c.amended = written != made
	if !IsHash(c.tree) {
		return commitObject{}, fmt.Errorf("a commit object without a tree: %.60q", head)
	}
	return c, nil
}
