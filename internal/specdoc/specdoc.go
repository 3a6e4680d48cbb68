// Package specdoc writes what people outside of ralph read of the work on one spec, from what
// was recorded of it: the text of its pull request, its page in the living docs, and their index.
//
// It does NOT own where these texts go (internal/step writes and commits them), and it says
// nothing that is not in the state. What specs, agents and trackers wrote is quoted: it calls
// nobody, links to nothing and closes no issue.
package specdoc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/specfile"
	"github.com/ralph-loop/ralph/internal/text"
)

// Work is what was recorded of the work on a spec.
type Work struct {
	File    string
	Head    specfile.Head
	Title   string
	Asked   string // the spec's text, without its head
	Spec    ralph.SpecID
	Journal string
	Receipt string // of its commit

	Tasks    []*ralph.Task
	Checks   *ralph.ChecksRan // the newest on what is merged; nil: none ran
	Tree     string           // what goes out
	Commands []string         // the checks, as they are run by hand
	Usage    ralph.Usage
	Turns    int
	Took     time.Duration
	Agents   []string
	Rejects  []*ralph.Reject
	Out      ralph.Outgoing
	Only     string   // the name of the one task that goes out with it; "": all of the spec does
	On       []string // the branches of other tasks whose commits it has as well
}

// OfTask is the part of a work that is one task, on a branch of its own.
func (w Work) OfTask(t *ralph.Task, branch string) Work {
	w.Out.Branch, w.Receipt, w.Tree = branch, t.Run.CommitKey, ""
	w.Only, w.Tasks, w.Checks = t.Name, []*ralph.Task{t}, t.Run.Checks
	w.Usage, w.Turns, w.Took, w.Agents = t.Run.Usage, t.Run.Iterations, t.Run.Spent, nil
	if t.Run.Agent != "" {
		w.Agents = []string{t.Run.Agent}
	}
	w.Rejects = slices.DeleteFunc(slices.Clone(w.Rejects), func(r *ralph.Reject) bool { return r.ID != t.ID })
	return w
}

// Of gathers the work of the job that a state is at.
func Of(s *ralph.State, spec string) Work {
	head, body := specfile.Parse(spec)
	w := Work{
		Head: head, Asked: strings.TrimSpace(body), Journal: s.Journal, Tasks: s.Plan.Tasks, Rejects: s.Plan.Rejects,
		Usage: s.Plan.Usage, Turns: s.Plan.Turns, Took: s.JobElapsed(workedUntil(s)), File: s.Plan.File,
	}
	if s.Job != nil {
		w.File, w.Spec = s.Job.File, s.Job.Spec
	}
	w.Title = titleOf(w.Asked, w.File)
	if i := s.Plan.Integration; i != nil {
		w.Out, w.Tree = i.Out, i.Tree
	}
	for _, t := range w.Tasks {
		if t.Status == ralph.TaskDone && t.Run.Checks != nil {
			w.Checks = t.Run.Checks
		}
		if t.Run.Agent != "" && !slices.Contains(w.Agents, t.Run.Agent) {
			w.Agents = append(w.Agents, t.Run.Agent)
		}
	}
	for _, t := range s.Stages {
		switch {
		case t.Kind == ralph.KindMerge && t.Run.Checks != nil && t.Run.Queue.State == ralph.MergeMerged:
			w.Checks = t.Run.Checks
		case t.Kind == ralph.KindLand && t.Run.CommitKey != "":
			w.Receipt = t.Run.CommitKey
		}
	}
	var settings struct {
		Commands []string `json:"commands"`
	}
	if json.Unmarshal(s.Session.Config, &settings) == nil {
		w.Commands = settings.Commands
	}
	return w
}

// workedUntil is when the newest of the work ended that a commit is made of: the same at each try
// to make it, so that the texts are.
func workedUntil(s *ralph.State) (at time.Time) {
	for t := range s.Work() {
		if t.Kind != ralph.KindLand && t.Run.EndedAt.After(at) {
			at = t.Run.EndedAt
		}
	}
	return at
}

// Title is the title of a spec.
func Title(spec, file string) string {
	_, body := specfile.Parse(spec)
	return titleOf(strings.TrimSpace(body), file)
}

// titleOf is the first heading of a spec, else its first line, else its file.
func titleOf(asked, file string) string {
	for line := range strings.Lines(asked) {
		if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#")); line != "" {
			return text.Clip(text.SafeLine(line), maxTitle)
		}
	}
	return strings.TrimSuffix(file, ".md")
}

const (
	maxTitle  = 120
	maxName   = 200  // bytes of a task's name
	maxAsked  = 40   // lines of a spec in a pull request
	maxLine   = 400  // bytes of a line that is quoted
	maxTasks  = 60   // rows of a table
	maxWords  = 300  // bytes of what an agent said
	maxQuoted = 8000 // bytes of a spec in a pull request
)

// said writes text of others: no markup, nobody is called, no issue is named.
func said(s string) string {
	return strings.ReplaceAll(report.Markdown(text.WithoutControl(s)), "#", "#\u2060")
}

// code is text of others as code, in which no comment begins.
func code(s string) string {
	return report.MarkdownCode(strings.ReplaceAll(text.Clip(text.SafeLine(s), maxWords), "<!--", "<! --"))
}

// quoted is a spec as a quotation, line for line, without the heading that is the title.
func (w Work) quoted(asked string, lines int) string {
	var b strings.Builder
	all := strings.Split(strings.TrimSpace(asked), "\n")
	if first := strings.TrimSpace(strings.TrimLeft(all[0], "#")); len(all) > 1 && strings.HasPrefix(all[0], "#") && text.Clip(text.SafeLine(first), maxTitle) == w.Title {
		all = strings.Split(strings.TrimSpace(strings.Join(all[1:], "\n")), "\n")
	}
	for n, line := range all {
		if heading := strings.TrimSpace(strings.TrimLeft(line, "#")); strings.HasPrefix(line, "#") && heading != "" {
			fmt.Fprintf(&b, "> **%s**\n", said(text.Clip(heading, maxLine)))
			continue
		}
		if n == lines || b.Len() > maxQuoted {
			fmt.Fprintf(&b, "> ... and %s more\n", text.Count(len(all)-n, "line"))
			break
		}
		deeper := "> "
		for inner := strings.TrimLeft(line, " "); strings.HasPrefix(inner, ">") && len(deeper) < 8; inner = line { // a quotation in it
			line = strings.TrimPrefix(strings.TrimPrefix(inner, ">"), " ")
			deeper += "> "
		}
		fmt.Fprintf(&b, "%s%s\n", deeper, said(text.Clip(strings.TrimRight(line, " \t\r"), maxLine)))
	}
	return b.String()
}

// taskTable lists the tasks with what was made of them.
func (w Work) taskTable() string {
	t := report.Table{Head: []string{"task", "result", "#turns", "its checks"}}
	for n, x := range w.Tasks {
		if n == maxTasks {
			break
		}
		t.Rows = append(t.Rows, []string{text.Clip(text.SafeLine(x.Name), maxName), result(x), fmt.Sprint(x.Run.Iterations), checkWords(x.Run.Checks)})
	}
	var b strings.Builder
	report.MarkdownTable(&b, t)
	if more := len(w.Tasks) - maxTasks; more > 0 {
		fmt.Fprintf(&b, "\nand %s more\n", text.Count(more, "task"))
	}
	return strings.ReplaceAll(b.String(), "\\#", "\\#\u2060")
}

func result(t *ralph.Task) string {
	words := string(t.Status)
	if n := len(t.Run.Rejects); n > 0 && t.Status == ralph.TaskDone {
		words += fmt.Sprintf(", sent back %s before", text.Count(n, "time"))
	}
	if t.Status != ralph.TaskDone && t.Run.Reason != "" {
		words += ": " + text.Clip(text.SafeLine(t.Run.Reason), maxWords)
	}
	return words
}

func checkWords(c *ralph.ChecksRan) string {
	switch {
	case c == nil:
		return "none ran"
	case !c.Pass:
		return "red: " + strings.Join(c.Reds(), ", ")
	case len(c.PassedOver()) > 0:
		return ralph.PassedOverWords(c.PassedOver())
	}
	return "green"
}

// checkTable are the results of the newest run of checks on what is merged.
func (w Work) checkTable() string {
	if w.Checks == nil {
		return "No check ran: there is none in the settings of this repository. What the agent said is all there is.\n"
	}
	t := report.Table{Head: []string{"check", "result", "took"}}
	for _, r := range w.Checks.Results {
		words := "green"
		switch {
		case !r.Pass && w.Checks.Counts(r):
			words = "red: " + r.WhyRed()
		case !r.Pass:
			words = "red, let pass (see below)"
		case r.Tries > 1:
			words = fmt.Sprintf("green at try %d on the same tree (flaky)", r.Tries)
		}
		if c := r.Coverage; c != nil && c.Percent > 0 {
			words += fmt.Sprintf(", coverage %.1f %%", c.Percent)
		}
		t.Rows = append(t.Rows, []string{text.SafeLine(cmp.Or(r.Name, r.Command)), words, took(r.Took)})
	}
	var b strings.Builder
	report.MarkdownTable(&b, t)
	switch {
	case w.Tree != "" && w.Checks.Tree == w.Tree:
		fmt.Fprintf(&b, "\nThey ran on exactly the files of this branch (tree `%s`).\n", text.ShortHash(w.Tree))
	case w.Checks.Tree != "":
		fmt.Fprintf(&b, "\nThey ran on tree `%s`.\n", text.ShortHash(w.Checks.Tree))
	}
	return b.String()
}

func took(d time.Duration) string {
	if d < time.Second {
		return "< 1s"
	}
	return ralph.Elapsed(d)
}

// letPass lists what did not hold the work up although it was not as it should be.
func (w Work) letPass() []string {
	var list []string
	add := func(words string) {
		if words = said(text.SafeLine(words)); words != "" && !slices.Contains(list, words) {
			list = append(list, words)
		}
	}
	if w.Checks != nil {
		add(ralph.PassedOverWords(w.Checks.PassedOver()))
	}
	for _, t := range w.Tasks {
		if t.Run.Checks != nil {
			add(ralph.PassedOverWords(t.Run.Checks.PassedOver()))
		}
		for _, f := range t.Run.Queue.Weakened {
			add("tests: " + report.FindingWords(f) + seenBy(t))
		}
		for _, f := range t.Run.Queue.Settings {
			add("settings: " + report.FindingWords(f) + seenBy(t))
		}
		if v := t.Run.Waived; v != nil {
			for _, f := range v.Findings {
				add("seen by a person: " + report.FindingWords(f))
			}
		}
	}
	return list
}

func seenBy(t *ralph.Task) string {
	if t.Run.Queue.Approved {
		return " (a person looked at it and said: merge)"
	}
	return ""
}

// decisions are the words of people, and of VERIFY, that made the work what it is.
func (w Work) decisions() []string {
	var list []string
	for _, t := range w.Tasks {
		for _, qa := range t.Run.Answers {
			list = append(list, fmt.Sprintf("asked: %s; a person answered: %s", said(text.Clip(qa.Question, maxWords)), said(text.Clip(qa.Answer, maxWords))))
		}
		for _, why := range t.Run.Rejects {
			list = append(list, fmt.Sprintf("%s was sent back: %s", said(text.Clip(text.SafeLine(t.Name), maxName)), said(text.Clip(why, maxWords))))
		}
	}
	for _, r := range w.Rejects {
		if words := fmt.Sprintf("%s was sent back: %s", r.ID, said(text.Clip(r.Reason, maxWords))); !slices.ContainsFunc(list, func(l string) bool { return strings.HasSuffix(l, said(text.Clip(r.Reason, maxWords))) }) {
			list = append(list, words)
		}
	}
	return list
}

// cost is what the work took, in one sentence.
func (w Work) cost() string {
	words := fmt.Sprintf("%s in %s", w.Usage.Dollars(), ralph.Elapsed(w.Took))
	if n := report.Tokens(w.Usage); n > 0 {
		words += fmt.Sprintf(", %s tokens", report.Many(n))
	}
	words += fmt.Sprintf(", %s", text.Count(w.Turns, "turn"))
	if len(w.Agents) > 0 {
		words += " of " + said(text.List(w.Agents, 5))
	}
	return words
}

// summary is the work in one line.
func (w Work) summary() string {
	done := 0
	for _, t := range w.Tasks {
		if t.Status == ralph.TaskDone {
			done++
		}
	}
	return fmt.Sprintf("%s done; checks: %s; %s in %s", text.Count(done, "task"), said(checkWords(w.Checks)), w.Usage.Dollars(), ralph.Elapsed(w.Took))
}

func bullets(b *strings.Builder, list []string, none string) {
	for n, words := range list {
		if n == maxTasks {
			fmt.Fprintf(b, "- and %d more\n", len(list)-n)
			return
		}
		fmt.Fprintf(b, "- %s\n", words)
	}
	if len(list) == 0 {
		b.WriteString(none + "\n")
	}
}
