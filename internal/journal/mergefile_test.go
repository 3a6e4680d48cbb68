package journal_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph/internal/views"
)

// Two branches' plan.jsonl become one as git merges them (issue 14.1, X-106).
func TestMergeFile(t *testing.T) {
	t.Parallel()
	head := `{"t":"spec","spec":"a.md"}`
	one, two, three := taskLine("t-1", "pending"), taskLine("t-2", "pending"), taskLine("t-3", "pending")
	done := taskLine("t-1", "done")
	named := strings.Replace(one, `"n"`, `"better"`, 1)
	file := func(lines ...string) string { return strings.Join(lines, "\n") + "\n" }
	base := file(head, one, two)
	for name, c := range map[string]struct {
		ours, theirs, want string
		conflicts          int
	}{
		"nothing":                   {base, base, base, 0},
		"each adds one":             {file(head, one, two, three), file(head, one, two, taskLine("t-4", "pending")), file(head, one, two, taskLine("t-4", "pending"), three), 0},
		"one added in the middle":   {file(head, one, two, three), file(head, one, taskLine("t-4", "pending"), two), file(head, one, taskLine("t-4", "pending"), two, three), 0},
		"done and renamed":          {file(head, done, two), file(head, named, two), file(head, strings.Replace(named, "pending", "done", 1), two), 0},
		"done here, failed there":   {file(head, taskLine("t-1", "failed"), two), file(head, done, two), file(head, done, two), 0},
		"taken out and untouched":   {file(head, two), base, file(head, two), 0},
		"taken out and done":        {file(head, two), file(head, done, two), file(head, done, two), 0},
		"two names":                 {file(head, named, two), file(head, strings.Replace(one, `"n"`, `"other"`, 1), two), file(head, "<<<<<<< ours", named, "=======", strings.Replace(one, `"n"`, `"other"`, 1), ">>>>>>> theirs", two), 1},
		"two specs":                 {file(`{"t":"spec","spec":"b.md"}`, one), file(`{"t":"spec","spec":"c.md"}`, one), file("<<<<<<< ours", `{"t":"spec","spec":"b.md"}`, "=======", `{"t":"spec","spec":"c.md"}`, ">>>>>>> theirs", one), 1},
		"the same issue, two added": {file(head, one, two, `{"t":"issue","desc":"odd"}`), file(head, one, two, `{"t":"issue","desc":"odd"}`), file(head, one, two, `{"t":"issue","desc":"odd"}`), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, conflicts, err := views.MergeFile(planPath, base, c.ours, c.theirs)
			must(t, err)
			if conflicts != c.conflicts {
				t.Errorf("%d conflicts, want %d", conflicts, c.conflicts)
			}
			wantText(t, got, c.want)
		})
	}
	if _, _, err := views.MergeFile(planPath, base, base, base+"<<<<<<< HEAD\n"); err == nil {
		t.Error("a version with conflict markers was merged")
	}
	if got, _, err := views.MergeFile(planPath, "", file(head, one), file(head, done)); err != nil || got != file(head, done) {
		t.Errorf("without a common version: %q, %v", got, err)
	}
}

// Whatever two sides did to records: nothing that is done on one of them is anything else
// afterwards, unless the other took it out untouched.
func TestMergedFilesForgetNothingDone(t *testing.T) {
	t.Parallel()
	status := rapid.SampledFrom([]string{"pending", "active", "done", "failed", ""}) // "": no line
	rapid.Check(t, func(t *rapid.T) {
		var text [3]strings.Builder
		var drawn [3]map[int]string
		for i := range text {
			drawn[i] = map[int]string{}
			for n := range 4 {
				if s := status.Draw(t, "status"); s != "" {
					drawn[i][n] = s
					text[i].WriteString(taskLine(fmt.Sprint("t-", n), s) + "\n")
				}
			}
		}
		got, conflicts, err := views.MergeFile(planPath, text[0].String(), text[1].String(), text[2].String())
		if err != nil || conflicts != 0 {
			t.Fatalf("%d conflicts, %v", conflicts, err)
		}
		for n := range 4 {
			base, ours, theirs := drawn[0][n], drawn[1][n], drawn[2][n]
			isDone := strings.Contains(got, taskLine(fmt.Sprint("t-", n), "done"))
			newly := base != "done" && (ours == "done" || theirs == "done")
			if newly && !isDone {
				t.Fatalf("t-%d: base %q, ours %q, theirs %q; merged:\n%s", n, base, ours, theirs, got)
			}
		}
	})
}
