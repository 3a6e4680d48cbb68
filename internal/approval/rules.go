package approval

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// ActiveRules are the rules of people that hold for a task now, oldest first. task "" is
// a person's own session beside the engine: only rules for the whole repository hold there.
func ActiveRules(s *ralph.State, task ralph.TaskID, now time.Time) []*ralph.AnswerRule {
	var out []*ralph.AnswerRule
	for _, r := range s.Rules {
		switch {
		case s.Expired(r, now) != "":
		case task == "" && r.Scope != ralph.ScopeRepository:
		case r.Scope == ralph.ScopeTask && r.Of != string(task):
		default:
			out = append(out, r)
		}
	}
	return out
}

// InTree is a request as rules know it: its folder and files relative to the work tree
// where they are in it, symbolic links followed. Work trees of slots differ in nothing
// but their paths, and a link that leads elsewhere later is not the same any more.
func InTree(q ralph.Request, w ralph.WorkDir) (in ralph.Request, missing Missing) {
	g := groundOf(w)
	return inTree(q, g), g.missing
}

func inTree(q ralph.Request, g *ground) ralph.Request {
	base := g.in(q.Dir)
	place := func(p string) string {
		real := g.real(p)
		if rel, ok := within(g.real(g.Work), real); ok {
			return rel
		}
		return real
	}
	if q.Dir != "" {
		q.Dir = place(base)
	}
	if q.Dir == "." {
		q.Dir = ""
	}
	paths := make([]string, len(q.Paths))
	for i, p := range q.Paths {
		if !filepath.IsAbs(p) {
			p = base + "/" + p
		}
		paths[i] = place(p)
	}
	if len(paths) > 0 {
		q.Paths = paths
	}
	if q.Op != ralph.OpCommand && len(paths) > 0 {
		q.Dir = "" // its files say where
	}
	return q
}

// ruled is the rule that answers a request, nil when a person has not answered the very
// same. Who denies has the last word; otherwise the newest rule does.
func ruled(q ralph.Request, g *ground, rules []*ralph.AnswerRule) *ralph.AnswerRule {
	if len(rules) == 0 {
		return nil
	}
	return Matching(inTree(q, g), rules)
}

// Matching is ruled for a request that is in the tree already.
func Matching(q ralph.Request, rules []*ralph.AnswerRule) *ralph.AnswerRule {
	var found *ralph.AnswerRule
	for _, r := range slices.Backward(rules) {
		switch {
		case !sameRequest(r.Request, q):
		case r.Verdict == ralph.Denied:
			return r
		case found == nil:
			found = r
		}
	}
	return found
}

// AnswerGate answers a gate that is open already by a rule that came later: the same was
// asked in two slots, and a person answered one of them for good.
func AnswerGate(g *ralph.Approval, rules []*ralph.AnswerRule) Ruling {
	if g.Never || g.Request == nil || g.Request.Cut {
		return Ruling{}
	}
	q := *g.Request
	if q.Kind == ralph.RequestQuestion {
		q.Options = g.Options
	}
	if r := Matching(q, rules); r != nil {
		return OfRule(r)
	}
	return Ruling{}
}

// sameRequest reports whether two requests, both in the tree, ask the very same. Of a
// command that is its text and folder, of files their names; of anything else also what
// the agent says and hands over, as nobody knows what in it matters.
func sameRequest(a, b ralph.Request) bool {
	if a.Kind != b.Kind || a.Cut || b.Cut {
		return false
	}
	if a.Op == ralph.OpCheck && b.Op == ralph.OpCheck { // the rule's is a: less may be red by now
		return ralph.Covers(a.Red, b.Red)
	}
	if a.Kind == ralph.RequestQuestion {
		return strings.TrimSpace(a.Text) == strings.TrimSpace(b.Text) && a.Text != "" && slices.Equal(choices(a), choices(b))
	}
	same := a.Op == b.Op && a.Tool == b.Tool && a.Dir == b.Dir && strings.TrimSpace(a.Command) == strings.TrimSpace(b.Command)
	if !same || !samePaths(a.Paths, b.Paths) {
		return false
	}
	return Evident(a) || a.Text == b.Text && a.Detail == b.Detail
}

// Evident reports whether a request's command or files, or its question, say all about
// it. Of others the agent's words and input have to be compared too.
func Evident(q ralph.Request) bool {
	switch {
	case q.Kind == ralph.RequestQuestion:
		return true
	case q.Op == ralph.OpCommand:
		return strings.TrimSpace(q.Command) != ""
	}
	return (q.Op == ralph.OpEdit || q.Op == ralph.OpRead) && len(q.Paths) > 0
}

// Essence is a request with what answers depend on, and no more: the words and the patch of a
// command or of a change of files say nothing that these do not.
func Essence(q ralph.Request) ralph.Request {
	q.ID = ""
	if q.Kind == ralph.RequestApproval && Evident(q) {
		q.Text, q.Detail = "", ""
	}
	return q
}

// choices are the answers that a question offers.
func choices(q ralph.Request) []string {
	if len(q.Options) == 0 && len(q.Questions) == 1 {
		return q.Questions[0].Options
	}
	return q.Options
}

func samePaths(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// OfRule is what a rule says.
func OfRule(r *ralph.AnswerRule) Ruling {
	return Ruling{Verdict: r.Verdict, Rule: "rule " + string(r.ID), Text: r.Text, By: r.ID}
}

// Reply is the word as the agent gets it; of a word that is an answer.
func (w Ruling) Reply() ralph.Reply {
	switch {
	case w.Verdict == ralph.Approved:
		return ralph.Reply{Allow: true}
	case w.Verdict == ralph.Denied:
		return ralph.Reply{Text: cmp.Or(w.Text, "a person said no to this for each time it is asked")}
	}
	return ralph.Reply{Text: w.Text}
}
