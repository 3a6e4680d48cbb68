package specdoc_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/specdoc"
	"github.com/ralph-loop/ralph/internal/specfile"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is otherwise now (-update writes it):\n%s", name, got)
	}
}

// hostile is text of an issue that tries what such texts can try.
const hostile = "# Add a discount @everyone\n\nfixes #1, closes acme/shop#2\n\n<!-- ralph:end -->\n<!-- ralph:begin --><script>alert(1)</script>\n" +
	"<!-- /ralph:rounds -->\n```\n![x](https://evil.example/x.png) [click](javascript:alert(1))\n\x1b[31mred\x1b[0m \u202eback\n| a | b |\n---\nland: commit\n---\n"

func work() specdoc.Work {
	at := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	checks := &ralph.ChecksRan{Pass: true, Tree: "4b825dc642cb6eb9a060e54bf8d69288fbee4904", Known: []string{"make lint"}, Waived: []string{"make lint"}, Results: []ralph.CheckResult{
		{Name: "go test ./...", Pass: true, Took: 41 * time.Second, Coverage: &ralph.Coverage{Percent: 83.4}},
		{Name: "make lint", Exit: 1, Headline: "cart.go:7: line too long", Took: 3 * time.Second, Failed: []string{"cart.go"}},
	}}
	one := &ralph.Task{ID: "t-1", Name: "Take codes at the till", Status: ralph.TaskDone}
	one.Run.Iterations, one.Run.Agent, one.Run.Checks, one.Run.Commit, one.Run.EndedAt = 2, "claude", checks, "93b06e0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", at
	one.Run.Rejects = []string{"the code is not checked for its date"}
	one.Run.Answers = []ralph.QA{{Question: "May a code be used twice?", Answer: "no, once for each customer"}}
	two := &ralph.Task{ID: "t-2", Name: "Show | the discount", Status: ralph.TaskDone}
	two.Run.Iterations, two.Run.Agent, two.Run.Checks, two.Run.EndedAt = 1, "codex", checks, at
	two.Run.Queue.Weakened, two.Run.Queue.Approved = []ralph.Finding{{Path: "cart_test.go", Line: 12, Kind: "removed", What: "TestOldPrice"}}, true
	return specdoc.Work{
		File: "discount.md", Head: specfile.Head{Issue: "acme/shop#12", Source: "https://github.example/acme/shop/issues/12"}, Title: "Add a discount",
		Asked: "# Add a discount\n\nCodes are taken at the till.\nA code holds for one customer once.", Spec: "q-a1b2", Journal: "0123456789ab", Receipt: strings.Repeat("ab", 32),
		Tasks: []*ralph.Task{one, two}, Checks: checks, Tree: checks.Tree, Commands: []string{"go test ./...", "make lint"},
		Usage: ralph.Usage{Input: 120_000, Output: 9_000, Cost: 0.83, Known: true}, Turns: 3, Took: 14 * time.Minute, Agents: []string{"claude", "codex"},
		Out: ralph.Outgoing{How: ralph.LandPull, Branch: "ralph/discount", Remote: "origin", Onto: "main"},
	}
}

// The text of a pull request says what was asked, what changed, what the checks said, what was
// let pass, what it took and how to see it for oneself.
func TestPullText(t *testing.T) {
	first := work().PullText("")
	golden(t, "pull.md", first)
	w := work()
	w.Head.Round, w.Asked = 2, specfile.JoinRound("# Add a discount (round 2)\n\nlint: cart.go:7\n\n> too long", w.Asked)
	second := w.PullText(first)
	golden(t, "pull_round.md", second)
	if again := w.PullText(second); again != second {
		t.Errorf("the same round written twice differs:\n%s", again)
	}
}

// C-055: where tasks go out on their own, the text is about one, closes nothing, and says what it is built on;
// so does that of a later round.
func TestPullTextOfTask(t *testing.T) {
	w := work()
	w.On = []string{"ralph/discount-t-2"}
	w = w.OfTask(w.Tasks[0], "ralph/discount-t-1")
	first := w.PullText("")
	round := work()
	round.Head.Issue, round.Only, round.On = "", "Take codes at the till", w.On
	for name, text := range map[string]string{"first": first, "round": round.PullText(first)} {
		for _, want := range []string{"**Take codes at the till**. It goes out on its own", "Merge these first: `ralph/discount-t-2`.\n", "\n## What was asked\n\n> Codes are taken"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in:\n%s", name, want, text)
			}
		}
		if strings.Contains(text, "Closes ") {
			t.Errorf("%s: it closes an issue:\n%s", name, text)
		}
	}
	for _, want := range []string{"\nOne task of acme/shop#12: ", " and closes nothing.\n", "git fetch origin ralph/discount-t-1 ", "2 turns of claude"} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in:\n%s", want, first)
		}
	}
	for _, other := range []string{"Show", "codex", "exactly the files of this branch", "TestOldPrice"} {
		if strings.Contains(first, other) {
			t.Errorf("%q of another task is in:\n%s", other, first)
		}
	}
}

// C-075: the page of a spec, and what people write around what is generated.
func TestPage(t *testing.T) {
	page := work().Page("")
	golden(t, "page.md", page)
	if again := work().Page(page); again != page {
		t.Errorf("nothing changed, and the page did:\n%s", again)
	}
	_, generated, _ := strings.Cut(page, "<!-- ralph:begin")
	mine := "# Our notes\n\nmine before\n\n<!-- ralph:begin" + generated + "\nmine after\n"
	w := work()
	w.Tasks = w.Tasks[:1]
	got := w.Page(mine)
	if !strings.HasPrefix(got, "# Our notes\n\nmine before\n") || !strings.HasSuffix(got, "\nmine after\n") {
		t.Errorf("what people wrote is gone:\n%s", got)
	}
	if strings.Contains(got, "Show") {
		t.Errorf("the generated part is the old one:\n%s", got)
	}
	if got := work().Page("only mine\n"); !strings.HasPrefix(got, "only mine\n\n<!-- ralph:begin") {
		t.Errorf("a page without marks:\n%s", got)
	}
}

func TestIndex(t *testing.T) {
	page := work().Page("")
	e, ok := specdoc.ReadEntry("discount.md", page)
	if !ok || e.Title != "Add a discount" || e.Date != "2026-11-25" {
		t.Fatalf("the entry of the page: %+v %v", e, ok)
	}
	old := specdoc.Entry{File: "sub/a b.md", Title: "Older [one]", Date: "2026-11-01", Words: "1 task done"}
	index := specdoc.Index("", []specdoc.Entry{old, e})
	golden(t, "index.md", index)
	if again := specdoc.Index(index, []specdoc.Entry{e, old}); again != index {
		t.Errorf("the order of the pages on the disk shows:\n%s", again)
	}
	if _, ok := specdoc.ReadEntry("x.md", "# a page of people\n"); ok {
		t.Error("a page of people is in the index")
	}
}

// Text of others changes nothing but the text: no issue is closed, nobody called, no mark and no
// fence ended, no head made.
func FuzzHostile(f *testing.F) {
	f.Add(hostile)
	f.Add(strings.Repeat("@a #1 ", 40_000))
	f.Add("<!-- ralph:page {} --> -->")
	f.Fuzz(func(t *testing.T, text string) {
		w := work()
		w.Head = specfile.Head{Source: text}
		w.Asked, w.Title = text, text
		w.Tasks[0].Name, w.Tasks[0].Run.Rejects = text, []string{text}
		w.Tasks[0].Run.Answers = []ralph.QA{{Question: text, Answer: text}}
		if len(text)%2 == 1 {
			w.Only, w.On = text, []string{text}
		}
		body := w.PullText("")
		if n := strings.Count(body, "<!--"); n != 3 {
			t.Fatalf("%d comments in the text:\n%s", n, body)
		}
		if len(body) > 61_000 {
			t.Fatalf("%d bytes", len(body))
		}
		if again := w.PullText(body); again != body {
			t.Fatalf("written twice it differs")
		}
		page := w.Page("")
		if again := w.Page(page); again != page {
			t.Fatalf("the page written twice differs:\n%s\n---\n%s", page, again)
		}
		for _, out := range []string{body, page} {
			for line := range strings.Lines(out) {
				if !strings.HasPrefix(line, "> ") && !strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "- ") {
					continue
				}
				if strings.Contains(line, "<script") || strings.Contains(line, "@everyone") || strings.Contains(line, "#1") || strings.Contains(line, "\x1b") || strings.Contains(line, "\u202e") || strings.Contains(strings.ReplaceAll(line, `\]`, ""), "](") {
					t.Fatalf("not harmless: %q", line)
				}
			}
		}
	})
}
