package specfile

import "strings"

// askedFirst is the heading under which a round's spec has what was asked at first.
const askedFirst = "## What was asked at first"

// JoinRound is the text of a round: what came back, and what was asked at first, as a quotation.
func JoinRound(back, asked string) string {
	back = strings.TrimRight(back, "\n") + "\n"
	if asked = strings.TrimSpace(asked); asked == "" {
		return back
	}
	return back + "\n" + askedFirst + "\n\nIt is done already.\n\n> " + strings.ReplaceAll(asked, "\n", "\n> ") + "\n"
}

// SplitRound takes the text of a round apart. Of one that is not as JoinRound writes it, all of
// it is what was asked.
func SplitRound(text string) (asked, back string) {
	at := strings.LastIndex(text, "\n"+askedFirst+"\n")
	if at < 0 {
		return text, ""
	}
	var b strings.Builder
	for line := range strings.Lines(text[at+1+len(askedFirst):]) {
		if quoted, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), ">"); ok {
			b.WriteString(strings.TrimPrefix(quoted, " ") + "\n")
		}
	}
	return strings.TrimSpace(b.String()), strings.TrimSpace(text[:at])
}
