//go:build linux && soak

package soak

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// seen notes how the person left everything.
func (b *backend) seen() {
	b.t.Helper()
	b.head = b.headName()
	b.staged = b.git("ls-files", "-s", "--", "src")
	for _, ref := range strings.Fields(b.git("for-each-ref", "--format=%(refname)", "refs/heads/", "refs/remotes/")) {
		if !strings.HasPrefix(ref, "refs/heads/ralph/") {
			b.refs[ref] = b.foreign(ref)
		}
	}
	b.stash = b.stashList()
	b.checkLines("after an act of the person")
}

func (b *backend) stashList() []string { return strings.Fields(b.git("stash", "list", "--format=%H")) }

func (b *backend) headName() string {
	name, err := os.ReadFile(b.path(".git/HEAD"))
	must(b.t, err)
	if strings.HasPrefix(string(name), "ref: ") {
		return strings.TrimSpace(string(name))
	}
	return "detached"
}

// foreign are the commits of a ref that neither ralph nor an agent made.
func (b *backend) foreign(ref string) []string {
	var list []string
	for line := range strings.Lines(b.git("log", "--format=%H %s", ref, "--")) {
		hash, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(subject, "ralph: ") && !strings.HasPrefix(subject, "agent: ") && !strings.HasPrefix(subject, "Merge ralph/") {
			list = append(list, hash)
			b.others[hash] = subject
		}
	}
	return list
}

// holds looks at what may never have changed since the person's last act.
func (b *backend) holds() {
	b.t.Helper()
	if now := b.headName(); now != b.head {
		b.t.Errorf("HEAD was %s and is %s", b.head, now)
		b.note("LAW: HEAD was %s and is %s", b.head, now)
	}
	for ref, commits := range b.refs {
		now := b.foreign(ref)
		for _, c := range commits {
			if !slices.Contains(now, c) {
				b.t.Errorf("%s (%s) is not on %s any more", c, b.others[c], ref)
				b.note("LAW: %s (%s) is not on %s any more", c, b.others[c], ref)
			}
		}
	}
	for now := b.stashList(); len(b.stash) > 0; b.stash = b.stash[1:] {
		if !slices.Contains(now, b.stash[0]) {
			b.t.Errorf("stash %s of the person is gone", b.stash[0])
			b.note("LAW: stash %s is gone", b.stash[0])
		}
	}
	if b.command == "autopilot" {
		if now := b.git("ls-files", "-s", "--", "src"); now != b.staged {
			b.t.Errorf("the person's index was\n%s\nand is\n%s", b.staged, now)
		}
	}
	b.checkLines("after ralph worked")
}

// checkLines wants each line of the person in a file, a commit or a stash.
func (b *backend) checkLines(when string) {
	b.t.Helper()
	for _, token := range b.lost() {
		b.t.Errorf("%s: %q of %s is nowhere", when, token, b.tokens[token])
		b.note("LAW: %q of %s is nowhere", token, b.tokens[token])
		delete(b.tokens, token)
	}
}

// lost are the lines of the person that are in no file, and in nothing that a ref names.
func (b *backend) lost() []string {
	var text strings.Builder
	files, err := filepath.Glob(b.path("src/*"))
	must(b.t, err)
	for _, file := range files {
		old, _ := os.ReadFile(file)
		text.Write(old)
	}
	missing := b.missing(text.String())
	if len(missing) == 0 {
		return nil
	}
	// what is in commits and stashes: each line was added by one of them
	text.WriteString(b.patches("src"))
	return b.missing(text.String())
}

// patches are all that was ever committed or stashed below a folder, and is still at hand.
func (b *backend) patches(folder string) string {
	args := append([]string{"log", "--all", "-m", "-p", "--format="}, b.stashList()...)
	return b.git(append(args, "--", folder)...) + b.git("log", "-g", "-m", "-p", "--format=", "--all", "--", folder)
}

func (b *backend) missing(text string) []string {
	var list []string
	for token := range b.tokens {
		if !strings.Contains(text, token) {
			list = append(list, token)
		}
	}
	return list
}

// comeBack ends what the person left in the middle.
func (b *backend) comeBack() {
	b.t.Helper()
	b.note("comes back")
	b.saves()
	b.abort()
	b.settle()
	if b.headName() != "ref: refs/heads/main" {
		if _, ok := b.try("switch", "-q", "main"); !ok {
			b.stashes()
			b.try("switch", "-q", "main")
		}
	}
	for before := -1; before != len(b.stashList()); { // one that does not fit stays
		before = len(b.stashList())
		if before > 0 && !strings.Contains(b.git("stash", "list", "-1"), "ralph:") {
			b.pop()
		}
	}
	b.saves()
	for _, file := range []string{"ralph/plan.jsonl", "ralph/inbox.jsonl"} {
		if b.unreadable(file) {
			b.try("rm", "-q", "--cached", "--", file)
			must(b.t, os.Remove(b.path(file)))
			b.note("removes %s", file)
		}
	}
	b.seen()
}

// finish lets engines work, and answers them, until nothing is left to do.
func (b *backend) finish() {
	b.t.Helper()
	for range 6 {
		b.start()
		for end := time.Now().Add(patience); b.engine.running(); {
			if time.Now().After(end) {
				b.t.Errorf("the engine neither ends nor says what it waits for: %s", b.ralph("status"))
				b.engine.wait(0)
			}
			b.await(3)
			b.decides()
		}
		b.ended()
		if b.over() {
			return
		}
		b.try("add", "-A")
		b.try("commit", "-q", "-m", "person, at the end")
		if b.back != "" { // it says where its work belongs
			b.try("switch", "-q", b.back)
		}
		b.moves(func() {})
	}
	b.t.Errorf("six starts, and there is work left: %s", b.ralph("status"))
}

// over reports whether everything has come to its end.
func (b *backend) over() bool {
	b.t.Helper()
	if b.command == "agent" {
		for _, status := range b.inbox() {
			if status != "done" && status != "failed" {
				return false
			}
		}
		return true
	}
	for _, x := range b.records() {
		if x.Status == "pending" || x.Status == "active" || x.Status == "done" && x.Merge != "merged" {
			return false
		}
	}
	return !strings.Contains(b.ok("status"), "waits for a clean checkout")
}

// records are the tasks of the plan, in order.
func (b *backend) records() []record { return (&crowd{b.repo}).records() }

// laws are what holds at the end of it all.
func (b *backend) laws() {
	b.t.Helper()
	b.checkLines("at the end")
	for _, f := range b.find("stalled") {
		b.t.Errorf("it had work and did nothing: %s", f)
	}
	if res := b.ralph("verify"); res.code != 0 || !strings.Contains(res.out, "The history holds.") {
		b.t.Errorf("ralph verify: %s", res)
	}
	b.checkReplay()
	b.git("fsck", "--full", "--strict", "--no-dangling")
	b.checkGone(b.pids())
	b.onceEach()
	b.reached()
}

// onceEach wants nothing done twice: no turn for what was done, no second commit.
func (b *backend) onceEach() {
	b.t.Helper()
	done := map[string]string{}
	for line := range strings.Lines(readAll(b.t, b.path("ralph/.state/journal.jsonl"))) {
		var f struct {
			T    string
			Fact struct{ ID, Status string }
		}
		if json.Unmarshal([]byte(line), &f) != nil {
			continue // a fact of another shape
		}
		switch id := f.Fact.ID; {
		case f.T == "task.ended" && f.Fact.Status == "done" && strings.HasPrefix(id, "t-"):
			done[id] = line
		case f.T == "task.retried" || f.T == "task.rejected":
			delete(done, id)
		case f.T == "task.started" && done[id] != "":
			b.t.Errorf("%s was done (%s) and is begun again (%s)", id, done[id], line)
		}
	}
	made := map[string]string{} // a rebase of the person's copies a commit, with its receipt
	for line := range strings.Lines(b.git("log", "--format=%s\t%(trailers:key=Ralph-Receipt,valueonly,separator=%x20)", "main", "--")) {
		subject, receipt, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if !strings.HasPrefix(subject, "ralph: ") || strings.HasPrefix(subject, "ralph: merge ") {
			continue
		}
		if made[subject] != "" && made[subject] != receipt {
			b.t.Errorf("main has %q twice, of the receipts %s and %s", subject, made[subject], receipt)
		}
		made[subject] = receipt
	}
}

// reached wants what is done to be somewhere: in the checkout, or in what a ref names.
func (b *backend) reached() {
	b.t.Helper()
	all := b.patches("work")
	files, err := filepath.Glob(b.path("work/*"))
	must(b.t, err)
	for _, file := range files {
		all += readAll(b.t, file)
	}
	for _, x := range b.records() {
		if x.Status == "done" && !strings.Contains(all, x.Name) {
			b.t.Errorf("%s is done and its work is nowhere", x.Name)
		}
	}
}
