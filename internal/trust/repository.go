package trust

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/hook"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// How is what a person does about what is not trusted.
const How = "`ralph trust` shows it and asks; `--trust` says yes for a run without a terminal"

// Brought are the things of a repository that run or hold less, each with the file that it
// is in.
func Brought(root string, c config.Config) (items []Item, files map[string]string, err error) {
	files = map[string]string{}
	add := func(key, what, file string, content []byte) {
		sum := sha256.Sum256(content)
		items = append(items, Item{Key: key, What: what, Hash: hex.EncodeToString(sum[:])})
		files[key] = file
	}
	for _, a := range c.Acting() {
		add("setting "+a.Key, a.Text, "ralph/config.yaml", []byte(a.Raw))
	}
	set, err := hook.Look(root)
	if err != nil {
		return nil, nil, err
	}
	for _, h := range set.Hooks {
		text, err := os.ReadFile(h.Path)
		if err != nil {
			return nil, nil, fmt.Errorf("look at hook %s: %w", h.Name, err)
		}
		file := hook.Dir + "/" + h.Name
		real, err := filepath.EvalSymlinks(h.Path)
		if rel, relErr := filepath.Rel(workspace.RealFolder(root), real); err == nil && relErr == nil {
			file = filepath.ToSlash(rel)
		}
		add("hook "+hook.Dir+"/"+h.Name, fmt.Sprintf("%d bytes", len(text)), file, text)
	}
	return items, files, nil
}

// Untrusted are those that nobody has said yes to and that were not made in this clone.
// repo nil is opened when git has to be asked.
func Untrusted(ctx context.Context, env workspace.Env, root string, c config.Config, repo *git.Repo) ([]Item, Repository, error) {
	items, files, err := Brought(root, c)
	if err != nil || len(items) == 0 {
		return nil, Repository{}, err
	}
	known, _, err := Open(env.Environ).Known(root)
	if err != nil {
		return nil, known, err
	}
	missing := known.Missing(items)
	if len(missing) == 0 {
		return nil, known, nil
	}
	if repo == nil {
		if repo, err = git.Open(ctx, proc.NewRunner(""), root, env.Environ); err != nil {
			return nil, known, err
		}
	}
	made := map[string]bool{}
	for _, i := range missing {
		file := files[i.Key]
		if _, looked := made[file]; looked {
			continue
		}
		if made[file], err = commits.MadeHere(ctx, repo, file, landedBy(env)); err != nil {
			return nil, known, err
		}
	}
	return slices.DeleteFunc(missing, func(i Item) bool { return made[files[i.Key]] }), known, nil
}

// landedBy knows the commits that the engine made in this clone: what they change of
// settings a person has seen (gate.self), and they come to a branch without a commit of it.
func landedBy(env workspace.Env) func(commit string) bool {
	return func(commit string) bool {
		_, j, err := workspace.ReadState(env, false, false)
		if err != nil {
			return false
		}
		defer j.Close() //nolint:errcheck // nothing was written
		found := false
		_ = j.Each(0, func(e ralph.Event) error { // a journal that cannot be read knows none
			f, ok := e.Fact.(ralph.Committed)
			found = found || ok && f.Commit == commit
			return nil
		})
		return found
	}
}

// Words tells a person what is not trusted, and how each thing differs from what was.
func Words(root string, items []Item, known Repository) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s brings along what runs on this machine, or holds less than usual:\n", root)
	for _, i := range items {
		fmt.Fprintf(&b, "  %-8s %s: %s\n", known.Of(i), i.Key, i.What)
	}
	return text.Visible(b.String())
}

// Ask shows what is not trusted and asks; an empty line, and no answer, are no.
func Ask(ctx context.Context, env workspace.Env, root string, c config.Config, sure bool) error {
	items, known, err := Untrusted(ctx, env, root, c, nil)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		_, err := fmt.Fprintln(env.Stdout, "Nothing here needs your word: all of it is trusted, or was made in this clone.")
		return err
	}
	if !sure && !env.Terminal {
		return &ralph.Refusal{Why: strings.TrimRight(Words(root, items, known), "\n"), Hint: "say yes with `ralph trust --yes`, or ask a person at a terminal", Kind: ralph.ErrUsage}
	}
	fmt.Fprint(env.Stdout, Words(root, items, known))
	if !sure {
		_, _ = io.WriteString(env.Stdout, "Do you trust it? [y/N] ")
		line, _ := bufio.NewReader(env.Stdin).ReadString('\n')
		if word := strings.ToLower(strings.TrimSpace(line)); word != "y" && word != "yes" {
			return &ralph.Refusal{Why: "nothing was begun: what the repository brings along is not trusted", Hint: "look at ralph/config.yaml and ralph/hooks, then `ralph trust`", Kind: ralph.ErrUsage}
		}
	}
	if err := Open(env.Environ).Trust(root, items, time.Now()); err != nil {
		return fmt.Errorf("%w; `--trust` says yes for one run", err)
	}
	_, err = fmt.Fprintf(env.Stdout, "Trusted: %s, by content; `ralph trust revoke` takes it back\n", text.Count(len(items), "item"))
	return err
}

// Required refuses to run an agent of a repository that brings along what nobody has
// said yes to. Outside of a repository there is nothing of the kind.
func Required(ctx context.Context, env workspace.Env, root string) error {
	if _, err := os.Stat(filepath.Join(root, ".git")); root == "" || err != nil {
		return nil //nolint:nilerr // it is no repository
	}
	c, err := workspace.LoadConfig(env, root, nil)
	if err != nil {
		return nil //nolint:nilerr // whoever needs the settings says what is wrong with them
	}
	items, known, err := Untrusted(ctx, env, root, c, nil)
	if err != nil || len(items) == 0 {
		return err
	}
	return &ralph.Refusal{Why: strings.TrimRight(Words(root, items, known), "\n") + "\nnobody has said yes to it", Hint: "`ralph trust` shows it and asks", Kind: ralph.ErrUsage}
}
