//go:build linux && soak

package soak

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// most is how long anything may take: only a hang takes longer.
const most = patience

// act is one thing that the person does, with git, an editor or ralph.
func (b *backend) act() {
	b.t.Helper()
	deeds := []func(){
		b.edit, b.edit, b.edit, b.add, b.commit, b.commit, b.commitAll, b.amend, b.publish, b.publish, b.pull, b.pull, b.stashes, b.stashes, b.pop, b.pop,
		b.switches, b.switches, b.checkOut, b.checkOutAll, b.rebase, b.abort, b.halfSave, b.halfSave, b.conflict, b.saves, b.saves, b.plans, b.adds,
		b.adds, b.merges, b.resets, b.tidies,
		b.killed, b.killed, b.restart, b.restart, b.decides,
	}
	deeds[b.random.IntN(len(deeds))]()
}

func (b *backend) one(of ...string) string { return of[b.random.IntN(len(of))] }

// token makes a line that is there once.
func (b *backend) token(file string) string {
	b.n++
	token := fmt.Sprintf("person %d.", b.n)
	b.tokens[token] = file
	return token
}

func (b *backend) edit() {
	file := b.one("src/0.txt", "src/1.txt", "src/2.txt", fmt.Sprintf("src/new-%d.txt", b.n))
	old, _ := os.ReadFile(b.path(file))
	write(b.t, b.path(file), string(old)+b.token(file)+"\n")
	b.note("edit %s", file)
}

func (b *backend) add() { b.try("add", "src") }

func (b *backend) commit() {
	b.edit()
	b.try("add", "src")
	b.try("commit", "-q", "-m", fmt.Sprintf("person %d", b.n), "--", "src")
}

func (b *backend) commitAll() {
	b.n++
	b.try("commit", "-q", "-a", "-m", fmt.Sprintf("person %d, all", b.n))
}

// amend changes the person's own last commit, as long as nobody has it.
func (b *backend) amend() {
	if !b.mine("HEAD") {
		return
	}
	if _, published := b.try("merge-base", "--is-ancestor", "HEAD", "origin/main"); published {
		return
	}
	b.n++
	b.moves(func() { b.try("commit", "-q", "--amend", "-m", fmt.Sprintf("person %d, amended", b.n)) })
}

func (b *backend) mine(rev string) bool {
	out, _ := b.try("log", "-1", "--format=%s", rev)
	return strings.HasPrefix(out, "person ")
}

// moves runs what takes commits of the person off a branch by their own will.
func (b *backend) moves(do func()) {
	do()
	clear(b.refs)
}

// publish is the colleague's.
func (b *backend) publish() {
	b.n++
	b.git("-C", "../colleague", "pull", "-q", "--rebase")
	file := b.one(fmt.Sprintf("../colleague/c-%d.txt", b.n), fmt.Sprintf("../colleague/c-%d.txt", b.n), "../colleague/src/0.txt", "../colleague/ralph/plan.jsonl")
	old, err := os.ReadFile(b.path(file))
	line := fmt.Sprintf("colleague %d.\n", b.n)
	switch {
	case strings.HasSuffix(file, ".txt"):
		write(b.t, b.path(file), line+string(old))
	case err != nil || b.command != "autopilot":
		return // it is not in git
	default:
		p := planned{T: "task", ID: fmt.Sprintf("t-%d", 3000+b.n), Spec: "first.md", Name: fmt.Sprintf("theirs-%d", b.n), Status: "pending"}
		task, err := json.Marshal(p)
		must(b.t, err)
		write(b.t, b.path(file), string(old)+string(task)+"\n")
	}
	b.gitIn("../colleague", "add", "-A")
	b.gitIn("../colleague", "commit", "-q", "-m", fmt.Sprintf("colleague %d", b.n))
	b.gitIn("../colleague", "push", "-q")
	b.note("the colleague publishes %s", file)
}

// pull leaves what did not work as it is, for a while: see abort.
func (b *backend) pull() {
	how := b.one("--ff-only", "--rebase", "--rebase --autostash", "--rebase --autostash", "--no-rebase --no-edit")
	b.moves(func() { b.try(append([]string{"pull", "-q"}, strings.Fields(how)...)...) })
}

func (b *backend) rebase() {
	b.try("fetch", "-q")
	b.moves(func() { b.try("rebase", "-q", "--autostash", "origin/main") })
}

// abort ends what is in the middle, with what was edited meanwhile.
func (b *backend) abort() { b.drops(b.aborts) }

func (b *backend) aborts() {
	switch {
	case exists(b.path(".git/rebase-merge")), exists(b.path(".git/rebase-apply")):
		b.moves(func() {
			if _, ok := b.try("rebase", "--abort"); !ok {
				b.try("rebase", "--quit") // it never began
			}
		})
	case exists(b.path(".git/MERGE_HEAD")):
		b.moves(func() { b.try("merge", "--abort") })
	}
}

func (b *backend) stashes() {
	args := []string{"stash", "-q"}
	if b.random.IntN(2) == 0 {
		args = append(args, "-u")
	}
	b.try(args...)
}

// pop brings the newest stash back. One that does not fit is settled for what is in the
// file; the stash stays.
func (b *backend) pop() {
	if _, ok := b.try("stash", "pop", "-q"); !ok {
		b.settle()
	}
}

// settle ends the conflicts of a stash.
func (b *backend) settle() {
	out, _ := b.try("diff", "--name-only", "--diff-filter=U")
	if strings.TrimSpace(out) == "" || exists(b.path(".git/MERGE_HEAD")) || exists(b.path(".git/rebase-merge")) {
		return
	}
	b.drops(func() {
		for _, file := range strings.Fields(out) {
			if _, ok := b.try("checkout", "-q", "--ours", "--", file); !ok {
				b.try("rm", "-q", "-f", "--", file)
			}
		}
		b.try("reset", "-q")
	})
}

// drops runs what takes lines of the person away by their own will.
func (b *backend) drops(do func()) {
	before := b.lost()
	do()
	for _, token := range b.lost() {
		if !slices.Contains(before, token) {
			delete(b.tokens, token)
		}
	}
}

func (b *backend) switches() {
	if b.random.IntN(2) == 0 {
		b.try("switch", "-q", "main")
		return
	}
	b.n++
	b.try("switch", "-q", "-c", fmt.Sprintf("side-%d", b.n))
}

func (b *backend) checkOut() {
	b.drops(func() {
		b.try("checkout", "-q", "--", b.one("src/0.txt", "src/1.txt", "ralph/plan.jsonl", "ralph/inbox.jsonl", "touched.txt"))
	})
}

func (b *backend) checkOutAll() { b.drops(func() { b.try("checkout", "-q", "--", ".") }) }

// halfSave is what an editor leaves for a moment; saves is its end.
func (b *backend) halfSave() {
	file, text := b.view()
	if len(text) < 10 {
		return
	}
	b.half[file] = text
	b.spoilt = true
	write(b.t, b.path(file), text[:len(text)-1-b.random.IntN(min(len(text)-1, 60))])
	b.note("half save of %s", file)
}

func (b *backend) conflict() {
	file, text := b.view()
	if text == "" {
		return
	}
	b.half[file], b.spoilt = text, true
	lines := strings.SplitAfter(text, "\n")
	at := b.random.IntN(len(lines))
	lines = slices.Insert(lines, at, "<<<<<<< HEAD\n", lines[at], "=======\n")
	write(b.t, b.path(file), strings.Join(append(lines, ">>>>>>> theirs\n"), ""))
	b.note("conflict in %s", file)
}

func (b *backend) view() (file, text string) {
	file = b.one("ralph/plan.jsonl", "ralph/inbox.jsonl")
	if b.half[file] != "" {
		return file, ""
	}
	old, _ := os.ReadFile(b.path(file))
	return file, string(old)
}

func (b *backend) saves() {
	for _, file := range []string{"ralph/plan.jsonl", "ralph/inbox.jsonl"} {
		if text := b.half[file]; text != "" {
			write(b.t, b.path(file), text)
			delete(b.half, file)
			b.note("save %s", file)
		}
	}
}

// plans turns the lines of the plan around, as a person who wants the last one first.
func (b *backend) plans() {
	old, _ := os.ReadFile(b.path("ralph/plan.jsonl"))
	lines := strings.SplitAfter(strings.TrimSuffix(string(old), "\n"), "\n")
	if b.half["ralph/plan.jsonl"] != "" || len(lines) < 3 {
		return
	}
	last := strings.TrimSuffix(lines[len(lines)-1], "\n") + "\n"
	lines = slices.Insert(lines[:len(lines)-1], 1, last)
	write(b.t, b.path("ralph/plan.jsonl"), strings.Join(lines, ""))
	b.note("the last task comes first in plan.jsonl")
}

// adds writes one more task into the plan, and looks whether ralph has it.
func (b *backend) adds() {
	const file = "ralph/plan.jsonl"
	old, err := os.ReadFile(b.path(file))
	if b.command != "autopilot" || err != nil || b.broken() {
		return
	}
	b.n++
	p := planned{T: "task", ID: fmt.Sprintf("t-%d", 2000+b.n), Spec: "first.md", Name: fmt.Sprintf("more-%d", b.n), Status: "pending"}
	line, err := json.Marshal(p)
	must(b.t, err)
	write(b.t, b.path(file), string(old)+string(line)+"\n")
	b.note("adds %s to plan.jsonl", p.ID)
	if !slices.ContainsFunc(b.records(), func(x record) bool { return x.ID == p.ID }) && !b.spoilt {
		b.t.Errorf("%s was added to plan.jsonl, and ralph does not know it", p.ID)
	}
}

// merges takes in a branch of the person's.
func (b *backend) merges() {
	out, _ := b.try("for-each-ref", "--format=%(refname:short)", "refs/heads/side-*")
	if names := strings.Fields(out); len(names) > 0 {
		b.try("merge", "-q", "--no-edit", b.one(names...))
	}
}

// resets takes back the person's own last commit, as long as nobody has it.
func (b *backend) resets() {
	if _, published := b.try("merge-base", "--is-ancestor", "HEAD", "origin/main"); published || !b.mine("HEAD") {
		return
	}
	b.drops(func() { b.moves(func() { b.try("reset", "-q", b.one("--soft", "--mixed", "--hard"), "HEAD~1") }) })
}

func (b *backend) tidies() { b.try("gc", "-q") }

func (b *backend) killed() {
	if b.engine == nil || !b.engine.running() {
		return
	}
	b.kills++
	b.engine.kill()
	b.note("kill -9")
}

func (b *backend) restart() { b.start() }

// decides answers what waits.
func (b *backend) decides() {
	if b.broken() {
		return // the commands say so
	}
	var gates []struct{ ID, Kind, Text string }
	out := b.ok("gates", "--json")
	must(b.t, json.Unmarshal([]byte(out), &gates))
	for _, g := range gates {
		args := []string{"approve", g.ID}
		switch {
		case g.Kind == "question":
			args = []string{"answer", g.ID, "this way"}
		case g.Kind == "merge" && b.asked[g.Text]: // what they did to the branch does not fit: they see to it themselves
			args = []string{"deny", g.ID, "--reason", "I do it"}
		}
		b.asked[g.Text] = true
		res := b.ralph(args...)
		b.note("%s (%s): %d %s", strings.Join(args, " "), g.Text, res.code, strings.TrimSpace(res.errs))
	}
	if out := b.ok("query", "stage"); strings.Contains(out, `"paused"`) {
		b.ralph("resume")
		b.note("resume")
	}
}

// broken reports whether plan or inbox cannot be read, by the person's own doing.
func (b *backend) broken() bool {
	if len(b.half) > 0 {
		return true
	}
	for _, file := range []string{"ralph/plan.jsonl", "ralph/inbox.jsonl"} {
		if b.unreadable(file) {
			return true
		}
	}
	return false
}

func (b *backend) unreadable(file string) bool {
	text, _ := os.ReadFile(b.path(file))
	for line := range strings.Lines(string(text)) {
		if !json.Valid([]byte(line)) {
			return true
		}
	}
	return false
}
