package thread

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/text"
)

// maxSummary is how much research says, in bytes.
const maxSummary = 6 << 10

// Survey is what was seen of a repository for guidance.
type Survey struct {
	Files   []string // tracked, perhaps only the first
	Commits []string // the subjects of the last ones
	Dirty   []string // changed and not committed
	Checks  []string // the commands
	Readme  string   // its beginning
	Notes   string   // of earlier work, the end
}

// Research is how a repository stands in words, for models: what is not known is left out.
func Research(v Survey, s *ralph.State, t *ralph.Task) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if v.Files != nil {
		say("Files: %d. %s", len(v.Files), kindsOfFiles(v.Files))
		say("Last commits: %s", orNone(v.Commits))
		say("Not committed: %s", orNone(v.Dirty[:min(len(v.Dirty), 10)]))
	}
	for _, c := range v.Checks {
		say("A check: %s", c)
	}
	if before := s.Baseline(s.BaseOf(t)); before != nil && len(before.Reds) > 0 {
		var reds []string
		for _, r := range before.Reds {
			reds = append(reds, r.Name)
		}
		say("Red before the work: %s", text.List(reds, 10))
	}
	for _, spec := range s.Inbox {
		if spec.Status == ralph.SpecPending {
			say("Written down as to do: %s", spec.File)
		}
	}
	if v.Readme != "" {
		say("\nThe README begins:\n%s", v.Readme)
	}
	if v.Notes != "" {
		say("\nWhat earlier work noted:\n%s", v.Notes)
	}
	return text.Cut(strings.TrimSpace(b.String()), maxSummary)
}

// GuidanceInput is what a model is shown: the goal, how the repository stands, what has happened
// and what the agent may do, with what the parts of guidance before have come to.
func GuidanceInput(t *ralph.Task, summary, permissions string) signature.DirectiveIn {
	g := t.Run.Thread.Guidance
	in := signature.DirectiveIn{GuidanceIn: signature.GuidanceIn{Goal: t.Goal(), Summary: summary, State: stateWords(t), Permissions: permissions}}
	if in.Task, in.Steps = g.Understood, StepsOf(g); in.Task == "" {
		in.Task = t.Goal()
	}
	return in
}

// stateWords say what has happened in a thread so far.
func stateWords(t *ralph.Task) string {
	r := t.Run
	if r.Iterations == 0 {
		return "The agent has had no turn yet."
	}
	words := fmt.Sprintf("%s of the agent, %s.", text.Count(r.Iterations, "turn"), r.Usage.Dollars())
	if r.Checks != nil && !r.Checks.Pass {
		words += " Red: " + text.List(r.Checks.Reds(), 5) + "."
	}
	for _, d := range r.Thread.Past[max(0, len(r.Thread.Past)-3):] {
		words += fmt.Sprintf(" After turn %d: %s, %s.", d.Turn, d.Action, d.Reason)
	}
	for _, qa := range r.Answers[max(0, len(r.Answers)-3):] {
		words += fmt.Sprintf(" A person was asked %q and said %q.", text.Clip(qa.Question, 200), text.Clip(qa.Answer, 500))
	}
	return words
}

// kindsOfFiles says which folders and kinds of files there are most of.
func kindsOfFiles(files []string) string {
	dirs, kinds := map[string]int{}, map[string]int{}
	for _, f := range files {
		if dir, _, ok := strings.Cut(f, "/"); ok {
			dirs[dir+"/"]++
		}
		if ext := path.Ext(f); ext != "" {
			kinds[ext]++
		}
	}
	most := func(n map[string]int) string {
		names := slices.Sorted(maps.Keys(n))
		slices.SortStableFunc(names, func(a, b string) int { return n[b] - n[a] })
		for i, name := range names {
			names[i] = fmt.Sprintf("%s (%d)", name, n[name])
		}
		return orNone(names[:min(len(names), 12)])
	}
	return "Folders: " + most(dirs) + ". Kinds: " + most(kinds) + "."
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, "; ")
}
