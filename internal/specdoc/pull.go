package specdoc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/specfile"
	"github.com/ralph-loop/ralph/internal/text"
)

// The marks around what a later round goes on with.
const (
	roundsBegin = "<!-- ralph:rounds -->"
	roundsEnd   = "<!-- /ralph:rounds -->"
)

// maxPull is what GitHub takes as the text of a pull request, in bytes, with room to spare.
const maxPull = 60_000

// PullTitle is the title of the pull request.
func (w Work) PullTitle() string { return w.Title }

// PullText is the text of the pull request; before is the one of the round before, "" for none.
func (w Work) PullText(before string) string {
	var b strings.Builder
	section := func(title string) { fmt.Fprintf(&b, "\n## %s\n\n", title) }
	fmt.Fprintf(&b, "%s.\n", w.summary())
	here := slices.DeleteFunc(w.Head.Items(), func(ref string) bool { return !issueHere(ref) })
	switch {
	case w.Only != "":
		b.WriteString(w.alone(here))
	case len(here) > 0:
		fmt.Fprintf(&b, "\nCloses %s.\n", strings.Join(here, ", closes "))
	case w.Head.Source != "":
		fmt.Fprintf(&b, "\nIt comes from %s.\n", code(w.Head.Source))
	}
	section("What was asked")
	asked, back := w.Asked, ""
	if w.Head.Round > 1 {
		asked, back = specfile.SplitRound(w.Asked)
	}
	b.WriteString(w.quoted(asked, maxAsked))
	if back != "" {
		section(fmt.Sprintf("What came back: round %d", w.Head.Round))
		b.WriteString(w.quoted(back, maxAsked))
	}
	section("What changed")
	b.WriteString(w.taskTable())
	section("Checks")
	b.WriteString(w.checkTable())
	section("What was let pass")
	bullets(&b, w.letPass(), w.nothingLet())
	if list := w.decisions(); len(list) > 0 {
		section("Decisions")
		bullets(&b, list, "")
	}
	section("Cost")
	b.WriteString(w.cost() + ".\n")
	end := w.howToVerify() + w.roundsPart(before)
	out := strings.TrimRight(b.String(), "\n") + "\n"
	if most := maxPull - len(end); len(out) > most {
		out = out[:strings.LastIndexByte(out[:most], '\n')+1] + "\n(cut here: it is longer than a pull request may be)\n"
	}
	return out + end
}

// alone says that one task goes out on its own, of which issues, and on which work of others it is built.
func (w Work) alone(issues []string) string {
	of, closes := "a spec", ""
	if len(issues) > 0 {
		of, closes = strings.Join(issues, ", "), ", and closes nothing"
	}
	words := fmt.Sprintf("\nOne task of %s: **%s**. It goes out on its own%s.\n", of, said(text.Clip(text.SafeLine(w.Only), maxName)), closes)
	if len(w.On) > 0 {
		list := make([]string, len(w.On))
		for i, branch := range w.On {
			list[i] = code(branch)
		}
		words += fmt.Sprintf("\nIt is built on other tasks and has their commits as well. Merge these first: %s.\n", text.List(list, 10))
	}
	return words
}

// roundsPart is one line for each round, which the text of the next one goes on with. A
// first round has nothing to show.
func (w Work) roundsPart(before string) string {
	rounds := w.rounds(before)
	if len(rounds) == 1 {
		return fmt.Sprintf("\n%s\n<!-- %s -->\n%s\n", roundsBegin, strings.ReplaceAll(rounds[0], "--", "-"), roundsEnd)
	}
	return fmt.Sprintf("\n## Rounds\n\n%s\n%s\n%s\n", roundsBegin, strings.Join(rounds, "\n"), roundsEnd)
}

// issueHere reports whether the name of an issue is one that the service closes by its name in
// the text: owner/repo#12. What else stands in the head of a spec is only told.
func issueHere(ref string) bool {
	repo, number, ok := strings.Cut(ref, "#")
	if _, err := strconv.ParseUint(number, 10, 31); !ok || err != nil {
		return false
	}
	owner, name, ok := strings.Cut(repo, "/")
	plain := func(s string) bool {
		return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
	}
	return ok && plain(owner) && plain(name)
}

func (w Work) nothingLet() string {
	if w.Checks == nil {
		return "No check ran, so there was nothing to let pass."
	}
	return "Nothing: every check is green, and no test was found removed, skipped or weakened."
}

// howToVerify are commands that show the same to whoever runs them.
func (w Work) howToVerify() string {
	var b strings.Builder
	b.WriteString("\n## How to verify\n\n```sh\n")
	if w.Out.Branch != "" {
		fmt.Fprintf(&b, "git fetch %s %s && git switch --detach FETCH_HEAD\n", w.Out.Remote, w.Out.Branch)
	}
	for _, c := range w.Commands {
		if !strings.Contains(c, "```") {
			fmt.Fprintln(&b, text.SafeLine(c))
		}
	}
	b.WriteString("```\n")
	if w.Receipt != "" {
		fmt.Fprintf(&b, "\nThe commit names its receipt, `%.12s` of journal `%s`: where it was made, `ralph verify` holds the commit against what was recorded, and `ralph report` tells the whole of it.\n", w.Receipt, w.Journal)
	}
	return b.String()
}

// rounds are one line for each round: those of the text before, and this one.
func (w Work) rounds(before string) []string {
	n := max(1, w.Head.Round)
	var out []string
	if at := strings.LastIndex(before, roundsBegin); at >= 0 { // it is the last of the text
		part, _, _ := strings.Cut(before[at+len(roundsBegin):], roundsEnd)
		for line := range strings.Lines(part) {
			line = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "<!-- "), " -->"))
			number, _, _ := strings.Cut(line, ". ")
			if k, err := strconv.Atoi(number); err == nil && k < n && len(out) < maxTasks {
				out = append(out, line)
			}
		}
	}
	return append(out, fmt.Sprintf("%d. %s", n, w.summary()))
}
