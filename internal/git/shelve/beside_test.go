package shelve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// beside is a checkout in which ralph and a person work at the same time.
type beside struct {
	*testRepo
	rt     *rapid.T
	s      ralph.State
	agents commits.Agents    // what the hooks would have told
	own    []string          // commits of ralph itself
	loose  map[string]string // what the person edited between turns and has not committed
	n      int               // names what is made
	inTurn bool
	cut    bool // a turn was, and nobody has looked since
}

// F-02, F-03, R-C1, R-C2: whatever a person does with git beside ralph, in turns, between
// them, between a kill and the next start: none of their commits leaves a branch, no byte
// of theirs is lost, HEAD stays where they have it, what they change between turns is in
// no commit of ralph's, and what agents made is in the files, a commit or a stash.
func TestNobodysCommitsAreTouched(t *testing.T) {
	t.Parallel()
	origin := newBox(t)
	origin.Git("clone", "-q", "--bare", ".", "../origin.git")
	origin.Git("remote", "add", "origin", "../origin.git")
	origin.Git("fetch", "-q", "origin")
	origin.Git("branch", "-q", "-u", "origin/main")
	origin.Git("clone", "-q", "../origin.git", "../colleague")
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		place := filepath.Join(t.TempDir(), fmt.Sprint(n))
		if err := os.CopyFS(place, os.DirFS(filepath.Dir(origin.Dir))); err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(place)
		b := &beside{rt: rt, loose: map[string]string{}, testRepo: &testRepo{Box: gittest.Box{T: t, P: origin.P, Dir: filepath.Join(place, "work tree"), Env: origin.Env}}}
		b.repo = b.open(b.Dir)
		b.prepare()
		for range rapid.IntRange(2, 9).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "who") {
			case 0, 1, 2, 3, 4:
				b.person()
			case 5, 6, 7:
				b.turn()
			case 8:
				b.ralph("commit", b.commitAll)
			default:
				b.ralph("shelve", b.shelveAll)
			}
		}
		b.ralph("last commit", b.commitAll)
	})
}

func (b *beside) apply(f ralph.Fact) {
	b.s.Apply(ralph.Event{Seq: b.s.Seq + 1, At: time.Unix(b.s.Seq, 0), Fact: f})
}

func (b *beside) ok(what string, err error) {
	if err != nil {
		b.rt.Fatalf("%s: %v", what, err)
	}
}

func (b *beside) prepare() {
	b.s.Job = &ralph.Job{}
	b.s.Stages = []*ralph.Task{{ID: "x", Kind: ralph.KindLand, Status: ralph.TaskActive}}
	b.ok("begin", b.repo.Begin(b.T.Context()))
	h, err := b.repo.Head(b.T.Context())
	b.ok("head", err)
	tree, err := b.repo.Snapshot(b.T.Context())
	b.ok("snapshot", err)
	b.apply(ralph.Prepared{Task: "x", Head: h.Commit, Branch: h.Branch, Tree: tree})
}

// look is what the executor does before a turn, a commit or a shelving.
func (b *beside) look(step ralph.Step) []ralph.LeftFile {
	b.apply(ralph.StepStarted{Task: "x", Step: step})
	a := b.agents
	a.Commits = append(slices.Clone(b.s.Checkout.Commits), a.Commits...)
	f, ok, err := commits.Look(b.T.Context(), b.repo, b.s.Checkout, a)
	b.ok("look", err)
	b.cut = false
	if f.Task = "x"; ok {
		b.apply(f)
	}
	return f.Left
}

// turn is a turn of an agent, with a person beside it now and then; some are cut.
func (b *beside) turn() {
	b.look(ralph.Turn{})
	b.inTurn = true
	for range rapid.IntRange(0, 3).Draw(b.rt, "deeds") {
		switch rapid.IntRange(0, 3).Draw(b.rt, "deed") {
		case 0, 1:
			b.edit(rapid.SampledFrom([]string{"agent.txt", "agent-2.txt", "a.txt"}).Draw(b.rt, "file"), "agent")
		case 2:
			before, _ := b.Try("rev-parse", "HEAD")
			_, _ = b.Try("add", "agent.txt", "agent-2.txt")
			_, _ = b.Try("add", "agent.txt")
			if _, err := b.Try("commit", "-q", "-m", "agent"); err == nil {
				if h := b.Head(); h != strings.TrimSpace(before) {
					b.agents.Commits = append(b.agents.Commits, h)
				}
			}
		case 3:
			b.person()
		}
	}
	b.inTurn = false
	if rapid.IntRange(0, 4).Draw(b.rt, "cut") == 0 {
		b.repo, b.cut = b.open(b.Dir), true // killed
		return
	}
	tree, err := b.repo.TreeKept(b.T.Context())
	if _, failed := b.repo.Head(b.T.Context()); failed != nil || err != nil {
		b.rt.Fatalf("after a turn: %v, %v", err, failed)
	}
	b.apply(ralph.TurnEnded{Task: "x", Tree: tree, Head: b.Head(), Commits: slices.Clone(b.agents.Commits)})
}

func (b *beside) edit(name, who string) {
	b.n++
	text := b.Read(name)
	if strings.HasPrefix(text, "<") {
		text = ""
	}
	b.Write(name, text+fmt.Sprintf("%s %d\n", who, b.n))
	delete(b.loose, name)
}

// person does one thing that a person does. It may fail, as theirs do.
func (b *beside) person() {
	do := func(args ...string) bool { _, err := b.Try(args...); return err == nil }
	file := rapid.SampledFrom([]string{"p.txt", "p-2.txt", "dir/b.txt", "a.txt"}).Draw(b.rt, "theirs")
	switch rapid.SampledFrom([]string{
		"edit", "edit", "commit", "commit", "commit -a", "amend", "publish", "pull", "pull --rebase", "switch -c", "switch", "detach", "stash", "pop", "tag", "soft", "add",
	}).Draw(b.rt, "does") {
	case "edit":
		b.edit(file, "person")
		if !b.inTurn && !b.cut { // else nobody can tell
			b.loose[file] = b.Read(file)
		}
		return
	case "add":
		do("add", file)
		return
	case "commit":
		b.edit("p.txt", "person")
		do("add", "p.txt")
		do("commit", "-q", "-m", "person")
	case "commit -a":
		do("commit", "-q", "-am", "person all")
	case "amend":
		if h := b.Head(); !slices.Contains(b.agents.Commits, h) && !slices.Contains(b.own, h) {
			do("commit", "-q", "--amend", "-m", "person amended")
		}
	case "publish":
		b.n++
		there := &testRepo{Box: gittest.Box{T: b.T, P: b.P, Dir: filepath.Join(filepath.Dir(b.Dir), "colleague"), Env: b.Env}}
		there.Write(fmt.Sprintf("c-%d.txt", b.n), "colleague\n")
		_, _ = there.Try("add", "-A")
		_, _ = there.Try("commit", "-q", "-m", "published")
		_, _ = there.Try("push", "-q", filepath.Join(filepath.Dir(b.Dir), "origin.git"), "main")
		return
	case "pull":
		do("pull", "-q", "--ff-only", "../origin.git", "main")
		do("fetch", "-q", "../origin.git", "main:refs/remotes/origin/main")
	case "pull --rebase":
		if !do("pull", "-q", "--rebase", "--autostash", "../origin.git", "main") {
			do("rebase", "--abort")
		}
		do("fetch", "-q", "../origin.git", "main:refs/remotes/origin/main")
	case "switch -c":
		b.n++
		do("switch", "-q", "-c", fmt.Sprintf("side-%d", b.n))
	case "switch":
		do("switch", "-q", "main")
	case "detach":
		do("switch", "-q", "--detach")
	case "stash":
		do("stash", "-q", "-u")
	case "pop":
		if !do("stash", "pop", "-q") {
			do("checkout", "-q", "--theirs", ".")
			do("reset", "-q")
		}
	case "tag":
		b.n++
		do("tag", fmt.Sprintf("v%d", b.n))
	case "soft":
		if h := b.Head(); !slices.Contains(b.own, h) {
			do("reset", "-q", "--soft", "HEAD~1")
		}
	}
	clear(b.loose) // git may have moved all of it
}

// ralph does something, and holds the laws.
func (b *beside) ralph(what string, do func() (told []string)) {
	branches := func() map[string][]string {
		out := map[string][]string{}
		for ref := range strings.Lines(b.Git("for-each-ref", "--format=%(refname)", "refs/heads/", "refs/remotes/", "refs/tags/") + "\nHEAD") {
			ref = strings.TrimSpace(ref)
			out[ref] = strings.Fields(b.Git("rev-list", ref))
		}
		return out
	}
	at := func() string { h, _ := b.repo.Head(b.T.Context()); return h.Branch }
	before, branch, files := branches(), at(), b.Files()
	ours := slices.Concat(b.agents.Commits, b.own)
	told := do()
	if now := at(); now != branch {
		b.rt.Fatalf("%s: HEAD was on %q, now on %q", what, branch, now)
	}
	after := branches()
	for ref, commits := range before {
		for _, c := range commits {
			mine := slices.Contains(ours, c)
			if !slices.Contains(after[ref], c) && (!mine || strings.HasPrefix(ref, "refs/remotes/")) {
				b.rt.Fatalf("%s: %s of others is not on %s any more\n%s", what, c, ref, b.Git("log", "--graph", "--oneline", "--all"))
			}
		}
	}
	now := b.Files()
	for name, text := range files {
		if now[name] == text || strings.HasPrefix(name, "ralph/") {
			continue
		}
		if what != "shelve" {
			b.rt.Fatalf("%s: %s was %q and is %q", what, name, text, now[name])
		}
		_, text, _ = strings.Cut(text, " ")
		if !slices.ContainsFunc(told, func(rev string) bool { got, err := b.Try("show", rev+":"+name); return err == nil && got == text }) {
			b.rt.Fatalf("%s: %s was %q, is %q, and nothing of what is told (%v) has it", what, name, text, now[name], told)
		}
	}
	for name, text := range b.loose {
		if b.Read(name) != text {
			b.rt.Fatalf("%s: what somebody edited in %s between turns is gone from the file: %q", what, name, b.Read(name))
		}
	}
}

func (b *beside) commitAll() []string {
	left := b.look(ralph.Commit{})
	a := b.agents
	a.Commits = append(slices.Clone(b.s.Checkout.Commits), a.Commits...)
	b.n++
	key := fmt.Sprintf("k%d", b.n)
	c, err := commits.Make(b.T.Context(), b.repo, commits.Input{
		Base: b.s.Job.Base, Branch: b.s.Job.Branch, Trailer: "Ralph-Receipt", Key: key, Squash: true, Fresh: true,
		Message: "ralph: complete x\n\nRalph-Receipt: " + key + "\n", Agents: a, Left: left,
	})
	if _, elsewhere := errors.AsType[*commits.AwayError](err); elsewhere {
		b.apply(ralph.Committed{Task: "x", Away: err.Error()})
		if at, err := b.repo.Head(b.T.Context()); err == nil && at.Branch == b.s.Job.Branch && b.repo.Unfinished() == "" {
			b.rt.Fatalf("away at home: %v", err)
		}
		return nil
	}
	b.ok("commit", err)
	b.own = append(b.own, c.Hash)
	b.apply(ralph.Committed{Task: "x", Commit: c.Hash, Tree: c.Tree, Left: c.Left})
	for name, text := range b.loose {
		got, err := b.Try("show", c.Hash+":"+name)
		if before, failed := b.Try("show", c.Hash+"^:"+name); err == nil && got == text && (failed != nil || before != got) {
			b.rt.Fatalf("the commit has taken along what somebody edited in %s between turns", name)
		}
	}
	b.agents = commits.Agents{}
	b.prepare() // the next spec
	return nil
}

func (b *beside) shelveAll() []string {
	left := b.look(ralph.Shelve{})
	a := b.agents
	a.Commits = append(slices.Clone(b.s.Checkout.Commits), a.Commits...)
	b.n++
	how := rapid.SampledFrom([]string{ShelveStash, ShelveReset}).Draw(b.rt, "how")
	s, err := Shelve(b.T.Context(), b.repo, ShelveInput{
		How: how, Base: b.s.Job.Base, Branch: b.s.Job.Branch, Message: "ralph: failed x", ID: fmt.Sprintf("j%d", b.n), Agents: a, Left: left,
	})
	if _, refused := errors.AsType[*ralph.Refusal](err); refused {
		return nil
	}
	b.ok("shelve", err)
	b.apply(ralph.Shelved{Task: "x"})
	var told []string
	for _, rev := range []string{s.Stash, s.Ref} {
		if rev != "" {
			told = append(told, rev, rev+"^2")
		}
	}
	b.agents = commits.Agents{}
	b.prepare()
	return told
}
