package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/regular"
)

// maxObject bounds what is read of a commit object.
const maxObject = 4 << 20

// CommitObject is what ralph needs to know of a commit.
type CommitObject struct {
	Tree    string
	Parents []string
	Message string
	Amended bool // somebody made it anew later: git keeps when it was written at first
}

// Carries reports whether the message has the line, as a trailer is.
func (c CommitObject) Carries(line string) bool { return HasLine(c.Message, line) }

// HasLine reports whether a message has a line, as it is.
func HasLine(message, line string) bool {
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
	c, err := r.ReadCommit(ctx, commit)
	if err != nil {
		return "", fmt.Errorf("read tree of commit: %w", err)
	}
	return c.Tree, nil
}

// ReadCommit reads a commit, without a process where its object is loose.
func (r *Repo) ReadCommit(ctx context.Context, hash string) (CommitObject, error) {
	if err := CheckHash("commit", hash); err != nil {
		return CommitObject{}, err
	}
	text, err := r.Object(ctx, hash, "commit")
	if err != nil {
		return CommitObject{}, err
	}
	return ParseCommit(text)
}

// ReadLooseCommit is the text of a commit that is not packed.
func (r *Repo) ReadLooseCommit(hash string) (string, error) { return r.ReadLoose(hash, "commit") }

func (r *Repo) loosePath(hash string) string {
	return filepath.Join(r.common, "objects", hash[:2], hash[2:])
}

// ReadLoose reads objects/ab/cdef...: zlib of "<kind> <size>\x00<text>". It waits for no pipe that
// lies there in the place of an object.
func (r *Repo) ReadLoose(hash, kind string) (string, error) {
	packed, err := regular.ReadFile(r.loosePath(hash), maxObject)
	if err != nil {
		return "", err
	}
	z, err := zlib.NewReader(bytes.NewReader(packed))
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

// ParseCommit reads the text of a commit object.
func ParseCommit(text string) (CommitObject, error) {
	head, message, _ := strings.Cut(text, "\n\n")
	c := CommitObject{Message: message}
	var written, made string
	for line := range strings.SplitSeq(head, "\n") {
		name, value, _ := strings.Cut(line, " ")
		switch name {
		case "tree":
			c.Tree = value
		case "parent":
			c.Parents = append(c.Parents, value)
		case "author":
			written = value[strings.LastIndexByte(value, '>')+1:]
		case "committer":
			made = value[strings.LastIndexByte(value, '>')+1:]
		}
	}
	c.Amended = written != made
	if !IsHash(c.Tree) {
		return CommitObject{}, fmt.Errorf("a commit object without a tree: %.60q", head)
	}
	return c, nil
}
