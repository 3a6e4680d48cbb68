package whatif

import (
	"fmt"
	"io"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/advice"
	"github.com/ralph-loop/ralph/internal/text"
)

// Print tells a person what was decided, and what would be.
func (a Answer) Print(w io.Writer) error {
	where := "as it stands"
	if a.Receipt > 0 {
		where = fmt.Sprintf("receipt %d", a.Receipt)
	}
	then, now, in := "", "", ""
	switch {
	case a.Aside != nil:
		fmt.Fprintf(w, "%s %s (%s), %s: %s\n", a.Thread, when(a.Turn), where, a.Aside.Signature, a.Aside.Question)
		then, now = a.Aside.Then, a.Aside.Now
	default:
		fmt.Fprintf(w, "%s after turn %d (%s): what comes next?\n", a.Thread, a.Turn, where)
		now, in = a.Now.Words(), a.Now.Decision.NextInput
		if a.Then != nil {
			then = a.Then.Words()
		}
	}
	if a.Record.Outcome == advice.Unasked {
		_, err := fmt.Fprintf(w, "  No model is asked: %s\n", a.Record.Why)
		return err
	}
	if then != "" {
		fmt.Fprintf(w, "  then: %s\n", then)
	}
	fmt.Fprintf(w, "  now:  %s\n", now)
	if in != "" {
		fmt.Fprintf(w, "  The agent would be told: %s\n", text.Line(text.SafeLine(in), 400))
	}
	switch {
	case a.Record.Outcome == advice.Nobody:
		fmt.Fprintf(w, "  No model could be asked, so this is the rules' word: %s\n", a.Record.Why)
	case then != "" && a.Same:
		fmt.Fprintln(w, "  The same.")
	case a.Aside != nil:
		fmt.Fprintln(w, "  It differs.")
	case a.Then != nil:
		fmt.Fprintf(w, "  It differs: %s, not %s.\n", a.Now.Decision.Action, a.Then.Decision.Action)
	}
	u := a.Record.Usage
	cost := "its cost is not known (prices)"
	if u.Known {
		cost = ralph.Dollars(u.Cost)
	}
	_, err := fmt.Fprintf(w, "  Asked %s: %d tokens in, %d out, %s. Kept in %s.\n", text.Count(len(a.Record.Asked), "time"), u.Input+u.CacheRead+u.CacheWrite, u.Output, cost, a.Kept)
	return err
}

// when says in which turn a question was asked.
func when(turn int) string {
	if turn == 0 {
		return "before its first turn"
	}
	return fmt.Sprintf("in turn %d", turn)
}

// Print tells a person what would differ, and what it would have cost.
func (r Result) Print(w io.Writer) error {
	for _, d := range r.Differences {
		fmt.Fprintf(w, "fact %d, %s\n  then:  %s\n  would: %s\n", d.Seq, d.Task, d.Was, d.Now)
	}
	for _, d := range r.Threads {
		fmt.Fprintf(w, "fact %d, %s after turn %d\n  then:  %s\n", d.Seq, d.Thread, d.Turn, d.Then.Words())
		now := ""
		if d.Now != nil {
			now = d.Now.Words()
		}
		printNow(w, now, d.From, d.Model)
	}
	for _, d := range r.Questions {
		fmt.Fprintf(w, "fact %d, %s %s, %s: %s\n  then:  %s\n", d.Seq, d.Thread, when(d.Turn), d.Signature, d.Question, d.Then)
		printNow(w, d.Now, d.From, d.Model)
	}
	asides := ""
	if r.Asides > 0 {
		asides = fmt.Sprintf(", %d of %s open", r.AsidesOpen, text.Count(r.Asides, "other question"))
	}
	fmt.Fprintf(w, "%d receipts decided again, %d differ, %d of %s on threads open%s\n", r.Receipts, r.Differ, r.Open, text.Count(r.Decisions, "decision"), asides)
	_, err := fmt.Fprintf(w, "Models cost %s; these would have cost %s\n", costWords(r.Was), costWords(r.Would))
	return err
}

// printNow tells what would come of a question, "" where only a model could tell.
func printNow(w io.Writer, now, from, model string) {
	if now == "" {
		fmt.Fprintf(w, "  open:  %s would be asked (--ask asks it)\n", model)
		return
	}
	if from != "" {
		from = " (" + from + ")"
	}
	fmt.Fprintf(w, "  would: %s%s\n", now, from)
}

// costWords say what models cost, as far as that is known.
func costWords(c Cost) string {
	if c.Questions == 0 {
		return "nothing: none was asked"
	}
	out := ralph.Dollars(c.Dollars)
	if c.Unpriced > 0 {
		out += " or more"
	}
	out += fmt.Sprintf(" for %s of %d tokens in and %d out", text.Count(c.Questions, "question"), c.Input, c.Output)
	var why []string
	switch {
	case c.Estimated == c.Questions:
		why = append(why, "estimated")
	case c.Estimated > 0:
		why = append(why, fmt.Sprintf("%d of them estimated", c.Estimated))
	}
	if c.Unpriced > 0 {
		why = append(why, text.Plural(c.Unpriced, "has", "have")+" no price")
	}
	if len(why) > 0 {
		out += " (" + strings.Join(why, "; ") + ")"
	}
	return out
}
