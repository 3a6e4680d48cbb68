package observe

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
)

const (
	maxNew      = 100      // new files that are shown
	maxNewBytes = 32 << 10 // bytes of each
)

// WorkDiff is what is changed in the work tree of a task by now: in the middle of a turn no
// patch has it. Nothing is written for it, no index and no object: an agent works there.
func WorkDiff(ctx context.Context, env workspace.Env, root string, t *ralph.Task) ([]byte, error) {
	repo, err := git.Open(ctx, proc.NewRunner(""), root, env.Environ)
	if err == nil && t.Run.Worktree.Dir != "" {
		repo, err = repo.Tree(filepath.Join(root, t.Run.Worktree.Dir))
	}
	if err != nil {
		return nil, fmt.Errorf("look for changes: %w", err)
	}
	look := func(args ...string) (string, error) {
		out, err := repo.Run(ctx, git.Call{Args: slices.Concat(args, []string{"--"}, git.WithoutOwnFolders()), Conf: []string{"core.quotepath=off", "diff.autorefreshindex=false"}})
		if err != nil {
			return "", fmt.Errorf("look for changes: %w", err)
		}
		return out, nil
	}
	patch, err := look("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "HEAD")
	if err != nil {
		return nil, err
	}
	files, err := look("ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	b := bytes.NewBufferString(patch)
	if b.Len() > 0 && !strings.HasSuffix(patch, "\n") {
		b.WriteByte('\n')
	}
	names := slices.DeleteFunc(strings.Split(files, "\x00"), func(name string) bool { return name == "" })
	for _, name := range names[:min(len(names), maxNew)] {
		newFile(b, repo.Root(), name)
	}
	return text.Head(b.Bytes(), maxFile), nil
}

// newFile writes a file that git does not know yet as a patch has it.
func newFile(b *bytes.Buffer, root, name string) {
	fmt.Fprintf(b, "diff --git a/%[1]s b/%[1]s\nnew file, which git does not know yet\n", name)
	path := filepath.Join(root, filepath.FromSlash(name))
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() { // a pipe would never end
		return
	}
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	words, err := io.ReadAll(io.LimitReader(f, maxNewBytes))
	if err != nil || bytes.IndexByte(words, 0) >= 0 {
		fmt.Fprintf(b, "Binary file, %d bytes\n", info.Size())
		return
	}
	lines := bytes.SplitAfter(words, []byte("\n"))
	if n := len(lines); len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	fmt.Fprintf(b, "--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n", name, len(lines))
	for _, l := range lines {
		b.WriteString("+" + strings.TrimRight(string(l), "\r\n") + "\n")
	}
	if more := info.Size() - int64(len(words)); more > 0 {
		fmt.Fprintf(b, "\\ %d bytes more\n", more)
	}
}
