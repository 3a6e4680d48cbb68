package advice_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/advice"
	"github.com/ralph-loop/ralph/internal/model"
	"github.com/ralph-loop/ralph/internal/signature"
)

// E-052, E-060 to E-063: each part of guidance over each provider's wire: an answer of its type, one that is none, twice, and
// nobody to ask. What a model says is kept without signs that steer a terminal, and is bounded.
func TestGuide(t *testing.T) {
	t.Parallel()
	in := signature.DirectiveIn{GuidanceIn: signature.GuidanceIn{Goal: "go"}, Task: "t", Steps: []string{"one"}}
	for part, c := range map[ralph.GuidancePart]struct {
		answer string
		want   func(ralph.Guided) bool
	}{
		ralph.GuideRoute: {`{"route":"respond","response":"12 \u001b[2Jfiles","reason":"r","confidence":0.7}`, func(f ralph.Guided) bool {
			return f.Route == "respond" && f.Response == "12 files"
		}},
		ralph.GuideUnderstand: {`{"task":"mend it","requirements":["green"],"assumptions":["a"],"reason":"r","confidence":0.7}`, func(f ralph.Guided) bool {
			return f.Understood == "mend it" && len(f.Requirements) == 1 && len(f.Assumptions) == 1
		}},
		ralph.GuidePlan: {`{"steps":[{"text":"look\nhere","check":"` + strings.Repeat("long ", 1000) + `"}],"reason":"r","confidence":0.7}`, func(f ralph.Guided) bool {
			return len(f.Steps) == 1 && f.Steps[0].Text == "look here" && len(f.Steps[0].Check) <= 210
		}},
		ralph.GuideDirective: {`{"action":"continue","directive":"` + strings.Repeat("x", 9000) + `","reason":"r","confidence":0.7}`, func(f ralph.Guided) bool {
			return f.Action == ralph.ThenContinue && len(f.Directive) > 4000 && len(f.Directive) < 5000
		}},
	} {
		for _, p := range model.Providers() {
			c1 := advice.Chain{Engines: []advice.Engine{engine(t, p, serve(t, wired(p, c.answer)))}}
			f, err := c1.Guide(t.Context(), part, in, nil)
			if err != nil || f.Part != part || f.Outcome != ralph.GuidedAnswered || f.Confidence != 0.7 || f.Reason != "r" || f.Usage.Cost == 0 || !c.want(f) || !strings.Contains(f.Signature, " 1 ") {
				t.Errorf("%s over %s: %v, %+v", part, p, err, f)
			}
			lies := advice.Chain{Engines: []advice.Engine{engine(t, p, serve(t, wired(p, strings.Replace(c.answer, "0.7", "7", 1))))}}
			if f, err := lies.Guide(t.Context(), part, in, nil); err != nil || f.Outcome != "invalid" || !strings.Contains(f.Reason, "confidence is 7") || f.Directive+f.Understood+f.Route != "" || f.Usage.Cost == 0 {
				t.Errorf("%s over %s, a lie: %v, %+v", part, p, err, f)
			}
		}
		nobody := advice.Chain{}
		if f, err := nobody.Guide(t.Context(), part, in, nil); err != nil || f.Outcome != ralph.GuidedNobody || f.Reason != "no model is set" {
			t.Errorf("%s, nobody: %v, %+v", part, err, f)
		}
	}
	if _, err := (advice.Chain{}).Guide(t.Context(), ralph.GuideResearch, in, nil); err == nil {
		t.Error("research asks a model")
	}
}

// E-065, E-053: what comes after a turn of a guided thread: a directive as advice, a pause where it is none, and the
// rules where nobody could be asked.
func TestDirect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []any
		want    signature.DecisionOut
		by      string
	}{
		"a directive": {[]any{wired(model.Ollama, `{"action":"continue","directive":"step 2","reason":"r","confidence":0.9}`)}, signature.DecisionOut{Action: "continue", NextInput: "step 2", Reason: "r", Confidence: 0.9}, "ollama:m1"},
		"none":        {[]any{wired(model.Ollama, `no`)}, signature.DecisionOut{Action: "pause", Confidence: 1}, "ollama:m1"},
		"nobody":      {nil, signature.DecisionOut{Action: "continue", Reason: "no stop condition holds", Confidence: 1}, "rules"},
	} {
		chain := advice.Chain{}
		if c.answers != nil {
			chain.Engines = []advice.Engine{engine(t, model.Ollama, serve(t, c.answers...))}
		}
		out, r, err := chain.Direct(t.Context(), turned(), signature.DirectiveIn{})
		if name == "none" && strings.Contains(out.Reason, "gave no answer that counts") {
			out.Reason = ""
		}
		if err != nil || out != c.want || r.By != c.by {
			t.Errorf("%s: %v, %+v by %s", name, err, out, r.By)
		}
	}
}
