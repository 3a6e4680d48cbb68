package replay

import (
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/thread"
)

// answer is what was said to a request of an agent without a person, decided again.
type answer struct {
	decided  bool // it can be decided again
	same     bool
	was, now string
}

// answeredAgain decides once more what was said to a request in a turn: that it passes, that it
// does not, or that a person has to be asked. It can be done where what the answer depended on
// is recorded with it; s is the state before it. Of older histories only what passed because of
// the sandbox can, which depended on the request and the settings alone.
func answeredAgain(s *ralph.State, fact ralph.Fact, c policy.Config) answer {
	switch f := fact.(type) {
	case ralph.RequestAnswered:
		switch {
		case f.Suggested != nil:
			asked := answer{}
			if f.Judged != nil { // without the model a person would have been asked
				asked = judgedAgain(s, f.Task, f.Request, *f.Judged, c, question())
			}
			return suggestedAgain(f.Suggested, f.Text, c, asked)
		case f.Judged != nil:
			return judgedAgain(s, f.Task, f.Request, *f.Judged, c, approval.Ruling{Verdict: f.Verdict, Rule: f.Rule, Text: f.Text, By: by(f.Rule)})
		case strings.HasPrefix(f.Rule, approval.ByAutoRule) && f.Request.Op != ralph.OpEdit:
			word := approval.ByAuto(f.Request, c.Approval())
			return answer{decided: true, same: word.Verdict == f.Verdict && word.Rule == f.Rule, was: inWord(approval.Ruling{Verdict: f.Verdict, Rule: f.Rule}), now: inWord(word)}
		}
	case ralph.Asked:
		asked := answer{}
		if f.Judged != nil && f.Judged.Request != nil {
			asked = judgedAgain(s, f.Approval.Task, ralph.Request{}, *f.Judged, c, approval.Ruling{Rule: f.Approval.Rule, Gate: f.Approval.Kind, Never: f.Approval.Never})
		}
		if f.Suggested != nil {
			return suggestedAgain(f.Suggested, "", c, asked)
		}
		return asked
	}
	return answer{}
}

func judgedAgain(s *ralph.State, task ralph.TaskID, q ralph.Request, on ralph.Judged, c policy.Config, was approval.Ruling) answer {
	if on.Request != nil {
		q = *on.Request
	}
	word, missing := approval.Clear(approval.Essence(q), c.Approval(), on.WorkDir, approval.ActiveRules(s, task, on.DecidedAt))
	out := answer{decided: true, same: word == was && missing.None(), was: inWord(was), now: inWord(word)}
	if !missing.None() {
		out.now = "something else has to be looked up first: " + out.now
	}
	return out
}

// suggestedAgain decides once more what became of a model's suggestion: text is what the agent was
// answered, "" where a person was asked. first is whether it was for a model to say at all.
func suggestedAgain(x *ralph.Suggestion, text string, c policy.Config, first answer) answer {
	if first.decided && !first.same {
		return first
	}
	words, why := thread.Reply(x, thread.Limits{MinConfidence: c.MinConfidence})
	return answer{decided: true, same: words == text, was: thread.ReplyWords(text, "as it was"), now: thread.ReplyWords(words, why)}
}

// question is the word on a question that nothing answers.
func question() approval.Ruling {
	word, _ := approval.Clear(ralph.Request{Kind: ralph.RequestQuestion}, approval.Settings{}, ralph.WorkDir{}, nil)
	return word
}

// by is the rule of a person that a recorded answer names, "" for a setting.
func by(rule string) ralph.RuleID {
	id, _ := strings.CutPrefix(rule, "rule ")
	if id == rule {
		return ""
	}
	return ralph.RuleID(id)
}

func inWord(w approval.Ruling) string {
	if !w.Answered() {
		return "a person is asked: " + w.Rule
	}
	return strings.TrimPrefix(string(w.Verdict)+", "+w.Rule, ", ")
}
