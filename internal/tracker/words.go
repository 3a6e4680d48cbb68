package tracker

import (
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
)

// Words are a query in words that are the same for all services: label:ralph is:open author:anna
// assignee:ben.
type Words struct {
	Labels           []string
	State            string // open, closed, all
	Author, Assignee string
}

// ParseWords reads a query in words. ok is false for one in the language of a service.
func ParseWords(query string) (w Words, ok bool, err error) {
	w.State = "open"
	parts := SplitWords(query)
	for _, p := range parts {
		key, _, _ := strings.Cut(p, ":")
		switch key {
		case "label", "is", "state", "author", "assignee":
			ok = ok || strings.Contains(p, ":")
		}
	}
	if !ok {
		return w, false, nil
	}
	for _, p := range parts {
		key, value, _ := strings.Cut(p, ":")
		value = strings.Trim(value, `"`)
		switch {
		case value == "":
			return w, true, wordRefusal(query, p)
		case key == "label":
			w.Labels = append(w.Labels, value)
		case (key == "is" || key == "state") && (value == "open" || value == "closed"), key == "state" && value == "all":
			w.State = value
		case key == "is" && value == "issue":
		case key == "author":
			w.Author = value
		case key == "assignee":
			w.Assignee = value
		default:
			return w, true, wordRefusal(query, p)
		}
	}
	return w, true, nil
}

func wordRefusal(query, word string) error {
	return &ralph.Refusal{
		Why:  fmt.Sprintf("the query %q has %q, which is none of label:, is:open, is:closed, author:, assignee:", query, word),
		Hint: "write it as label:ralph is:open, or all of it in the language of the service (JQL, WIQL)", Kind: ralph.ErrUsage,
	}
}

// SplitWords splits at spaces outside of quotes.
func SplitWords(s string) []string {
	quoted := false
	return strings.FieldsFunc(s, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
}
