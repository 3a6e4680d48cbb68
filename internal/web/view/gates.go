package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/report/gates"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/text"
)

// What pages of gates show.
type (
	GatesModel = page.GatesModel
	GateRow    = page.GateRow
	EndRow     = page.EndRow
	RuleRow    = page.RuleRow
	GateModel  = page.GateModel
	Walk       = page.Walk
)

// walkWords say how far a walk is.
func walkWords(w *Walk) string {
	if w.Read == 0 {
		return w.What + ": waiting for its turn …"
	}
	return fmt.Sprintf("%s: reading fact %s of %s …", w.What, thousands(w.Read), thousands(w.Total))
}

// thousands writes a number as people read it.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// gateOf is the task that a gate is about.
func gateOf(g *ralph.Approval) ralph.TaskID { return cmp.Or(g.About, g.Task) }

// asks says in a few words what kind of decision a gate wants.
func asks(g *ralph.Approval) string {
	switch g.Kind {
	case ralph.ApprovalQuestion:
		return "An agent asks you"
	case ralph.ApprovalRequest:
		return "May the agent do this?"
	case ralph.ApprovalOperation:
		return "Held back: may this be done?"
	case ralph.ApprovalTest:
		return "The checks are not green: let it pass?"
	case ralph.ApprovalMerge:
		return "It cannot be merged without you"
	case ralph.ApprovalCommit:
		if g.Detail != "" {
			return "It changes settings: commit them?"
		}
		return "The checkout is elsewhere: commit there?"
	case ralph.ApprovalPush:
		return "May the branch be pushed?"
	case ralph.ApprovalStart:
		return "May the session begin?"
	case ralph.ApprovalStep:
		return "May this step be taken?"
	}
	return "It waits for you"
}

// whoAsks is who waits at a gate.
func whoAsks(g *ralph.Approval, agent string) string {
	switch {
	case g.By != "":
		return g.By
	case g.InTurn && agent != "":
		return agent
	}
	return "ralph"
}

// detailWords is the gate's own text of what to decide by, pretty where it is JSON; lang is
// what it is, for the colours: diff, json, "" for output.
func detailWords(text string) (pretty, lang string) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		var b bytes.Buffer
		if json.Indent(&b, []byte(text), "", "  ") == nil {
			return b.String(), "json"
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "diff --git ") || strings.HasPrefix(line, "@@ ") || strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "*** Begin Patch") {
			return text, "diff"
		}
	}
	return text, ""
}

// ended says how a gate ended, for its badge.
func ended(x *gates.End) string { return x.How }

// endWords is who ended it, when, and with which words.
func endWords(x *gates.End) string {
	switch by := x.By; {
	case x.How == string(ralph.Expired):
		return "nobody answered in time"
	case x.How == string(ralph.Withdrawn), x.How == "ended":
		return text.Visible(gates.Beginning(x.Text))
	case by == "engine":
		return "by ralph itself"
	default:
		return "by " + by
	}
}

// waitedFor is how long an answer took.
func waitedFor(x *gates.End) string {
	if x.Gate.AskedAt.IsZero() || x.At.Sub(x.Gate.AskedAt) < time.Second {
		return ""
	}
	return "after " + ralph.Elapsed(x.At.Sub(x.Gate.AskedAt))
}

// field finds a field of an offer.
func field(o action.Available, name string) (action.Field, bool) {
	for _, f := range o.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return action.Field{}, false
}

// alwaysFields are those that make a rule of an answer.
func alwaysFields(o action.Available) []action.Field {
	var out []action.Field
	for _, f := range o.Fields {
		if f.Name == "always" || f.Name == "scope" || f.Name == "for" {
			out = append(out, f)
		}
	}
	return out
}

// goKey is the key that gives an answer at once; textKey leads to its words first, where
// it has some.
func goKey(o action.Available) string {
	if _, words := field(o, "text"); words {
		return ""
	}
	return o.Key
}

func textKey(o action.Available) string {
	if _, words := field(o, "text"); words {
		return o.Key
	}
	return ""
}

// maxInList is how much of a gate's text stands in the list.
const maxInList = 300

// longText reports whether the list does not have all that is asked.
func longText(g *ralph.Approval) bool {
	return text.Clip(g.Text, maxInList) != g.Text || strings.Count(g.Text, "\n") > 5
}

// quick is an answer as the list offers it: at once where it can be, without making a rule.
func quick(g *ralph.Approval, o action.Available) action.Available {
	o.Fields = slices.DeleteFunc(slices.Clone(o.Fields), func(f action.Field) bool { return f.Name != "text" })
	if o.Action == "answer" && len(g.Options) > 0 {
		o.Title, o.Primary = "Other words", false
	}
	return o
}

// maxPaths are listed of the files that a gate is about.
const maxPaths = 40

// failing says what is wrong with a check.
func failing(r *ralph.CheckResult) string {
	switch {
	case !r.Pass:
		return r.WhyRed()
	case r.Why != "":
		return r.Why
	case len(r.Findings) > 0:
		return fmt.Sprintf("%d findings", len(r.Findings))
	}
	return "green"
}

func coverageWords(c *ralph.Coverage) string {
	return fmt.Sprintf("%.1f%% of the code is covered (%s of %s, %s)", c.Percent, thousands(c.Covered), thousands(c.Total), c.Format)
}

func at(path string, line int) string {
	if line > 0 {
		return fmt.Sprintf("%s:%d", path, line)
	}
	return path
}

func optionKey(i int) string {
	if i < 9 {
		return fmt.Sprint(i + 1)
	}
	return ""
}

// textLabel is what the words of an answer are for.
func textLabel(g *ralph.Approval, o action.Available, f action.Field) string {
	if o.Action == "answer" && len(g.Options) > 0 {
		return "Or in other words"
	}
	if o.Action == "deny" {
		switch g.Kind {
		case ralph.ApprovalStart, ralph.ApprovalStep:
			return "Why not"
		}
		return "Why not, in words for the agent"
	}
	return f.Label
}

func endTone(x *gates.End) string {
	switch x.How {
	case "approved", "answered":
		return "good"
	case "denied":
		return "bad"
	}
	return "warn"
}

func agentOf(t *ralph.Task) string {
	if t == nil {
		return ""
	}
	return t.Run.Agent
}

// gateShown reports whether the page shows piece by piece what the gate has as one text.
func gateShown(d *gates.Detail) bool { return len(d.Findings)+len(d.Conflicts)+len(d.Red) > 0 }

// commandSays reports whether the text of a gate is its command once more.
func commandSays(g *ralph.Approval) bool {
	return g.Request != nil && g.Request.Command != "" && strings.TrimSpace(g.Text) == "run "+strings.TrimSpace(g.Request.Command)
}

// detailParts is the gate's own text of what to decide by without what the request has
// shown exactly so: lines, then what comes after them, a patch or a tool's input.
func detailParts(g *ralph.Approval) (lines []string, body string) {
	body = strings.TrimSpace(g.Detail)
	q := g.Request
	if q == nil {
		return nil, body
	}
	for _, x := range [][2]string{{"Tool", q.Tool}, {"Command", q.Command}, {"Folder", q.Dir}, {"Files", strings.Join(q.Paths, ", ")}} {
		if x[1] == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(body+"\n", x[0]+": "+x[1]+"\n"); ok {
			body = strings.TrimSuffix(rest, "\n")
		}
	}
	for {
		line, rest, _ := strings.Cut(body, "\n")
		name, _, ok := strings.Cut(line, ": ")
		if !ok || name != "Why" && name != "Asked because" && name != "Files" && name != "Folder" {
			return lines, strings.TrimSpace(body)
		}
		lines, body = append(lines, line), rest
	}
}

func pathsTitle(q *ralph.Request) string {
	switch q.Op {
	case ralph.OpEdit:
		return "Files that it changes"
	case ralph.OpRead:
		return "Files that it reads"
	}
	return "Files"
}

// maxQA are shown of a task's earlier answers, the newest.
const maxQA = 10

func lastQA(list []ralph.QA) []ralph.QA { return list[max(0, len(list)-maxQA):] }

func changesTitle(d *gates.Detail) string {
	if d.Kind == ralph.ApprovalMerge {
		return "What the task has committed"
	}
	return "What the task has changed so far"
}

func changesSum(d *gates.Detail) string {
	added, removed := 0, 0
	for _, c := range d.Changes {
		added, removed = added+c.Added, removed+c.Removed
	}
	if len(d.Changes) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, +%d -%d", filesWord(len(d.Changes)), added, removed)
}

// side is a line of a conflict.
type side struct{ class, text string }

// sides tells the sides of a conflict apart.
func sides(text string) []side {
	var out []side
	class := ""
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "<<<<<<<"):
			class = "side-ours"
			out = append(out, side{"side-mark", line})
			continue
		case strings.HasPrefix(line, "|||||||"):
			class = "side-base"
			out = append(out, side{"side-mark", line})
			continue
		case strings.HasPrefix(line, "=======") && class != "":
			class = "side-theirs"
			out = append(out, side{"side-mark", line})
			continue
		case strings.HasPrefix(line, ">>>>>>>"):
			class = ""
			out = append(out, side{"side-mark", line})
			continue
		}
		out = append(out, side{class, line})
	}
	return out
}
