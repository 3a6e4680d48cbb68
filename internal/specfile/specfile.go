// Package specfile reads and writes the head of a spec: the lines between two `---` at its
// beginning that say where the spec comes from, who can work on it and how its work goes out.
//
// It does NOT own what a spec asks for: that is the text below, which agents read whole.
package specfile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
)

// Head is what the head of a spec says. What is not there, or is not understood, is zero.
type Head struct {
	Issue  string        // the item of a tracker that it is about: owner/repo#12, PROJ-7, ado:123
	Also   []string      // further ones, where issue: is a list
	Source string        // the address of that item, for people
	Land   ralph.LandHow // how its work goes out; "": as land.how says
	Branch string        // the branch of its work; "": by land.branch
	Pull   string        // the pull request that it is a round of
	Round  int           // which round, from 2; 0 for a spec of its own
	// Priority is how soon it is worked on, as people write it.
	Priority string
	Worker   []string // labels that a worker of a fleet must have to work on it
}

const fence = "---"

// MaxSize is how large a spec may be, in bytes: agents are given no longer ones.
const MaxSize = 1 << 20

// maxHead bounds the head: what is longer is text that begins with a line of dashes.
const maxHead = 8 << 10

// Parse reads the head of a spec. body is the text below it; without a head that is all of it.
func Parse(text string) (head Head, body string) {
	text = strings.TrimPrefix(text, "\ufeff")
	lines, body, ok := split(text)
	if !ok {
		return Head{}, text
	}
	last := "" // the key that a list of lines belongs to
	for _, line := range lines {
		if item, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "- "); ok && (last == "issue" || last == "worker") {
			head.add(last, unquote(item))
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(key, " ") || strings.HasPrefix(key, "#") {
			continue
		}
		last = strings.TrimSpace(key)
		head.set(last, strings.TrimSpace(value))
	}
	return head, body
}

// Items are the items of trackers that it is about.
func (h Head) Items() []string {
	if h.Issue == "" {
		return nil
	}
	return append([]string{h.Issue}, h.Also...)
}

// add adds to what may be a list.
func (h *Head) add(key, item string) {
	switch {
	case item == "":
	case key == "worker":
		h.Worker = append(h.Worker, item)
	case h.Issue == "":
		h.Issue = item
	default:
		h.Also = append(h.Also, item)
	}
}

// set takes a value as it stands on its line: in quotes, a bracket begins no list.
func (h *Head) set(key, raw string) {
	value := unquote(raw)
	switch key {
	case "issue", "worker":
		if !strings.HasPrefix(raw, "[") {
			h.add(key, value)
			return
		}
		for item := range strings.SplitSeq(strings.Trim(value, "[]"), ",") {
			h.add(key, unquote(item))
		}
	case "priority":
		h.Priority = value
	case "source":
		h.Source = value
	case "land":
		if how := ralph.LandHow(value); how == ralph.LandCommit || how == ralph.LandBranch || how == ralph.LandPull {
			h.Land = how
		}
	case "branch":
		h.Branch = value
	case "pull":
		h.Pull = value
	case "round":
		if n, err := strconv.Atoi(value); err == nil && n > 1 && n < 1000 {
			h.Round = n
		}
	}
}

// split takes the lines of a head off a text.
func split(text string) (lines []string, body string, ok bool) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \r") != fence {
		return nil, "", false
	}
	for at := rest; at != "" && len(rest)-len(at) < maxHead; {
		line, next, _ := strings.Cut(at, "\n")
		line = strings.TrimRight(line, " \r")
		if line == fence || line == "..." {
			return lines, strings.TrimLeft(next, "\r\n"), true
		}
		lines, at = append(lines, line), next
	}
	return nil, "", false
}

// unquote takes quotes, or what is said behind a value, off it.
func unquote(value string) string {
	value = strings.TrimSpace(value)
	if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
		if s, err := strconv.Unquote(value); err == nil {
			return s
		}
	}
	if !strings.HasPrefix(value, `"`) && !strings.HasPrefix(value, "'") {
		value, _, _ = strings.Cut(value, " #")
	}
	if n := len(value); n >= 2 && value[0] == '\'' && value[n-1] == '\'' {
		value = value[1 : n-1]
	}
	return strings.TrimSpace(value)
}

// Format writes a spec with a head. What a head's value cannot hold is quoted, so that whatever
// it is made of stays on its line.
func Format(h Head, body string) string {
	var b strings.Builder
	line := func(key, value string) {
		if value == "" {
			return
		}
		fmt.Fprintf(&b, "%s: %s\n", key, quote(value))
	}
	lines := func(key string, items []string) {
		if len(items) == 1 {
			line(key, items[0])
			return
		}
		for i, item := range items {
			if i == 0 {
				b.WriteString(key + ":\n")
			}
			fmt.Fprintf(&b, "  - %s\n", quote(item))
		}
	}
	lines("issue", h.Items())
	line("source", h.Source)
	line("land", string(h.Land))
	line("branch", h.Branch)
	line("pull", h.Pull)
	line("priority", h.Priority)
	lines("worker", h.Worker)
	if h.Round > 1 {
		line("round", strconv.Itoa(h.Round))
	}
	if b.Len() == 0 {
		return body
	}
	return fence + "\n" + b.String() + fence + "\n\n" + body
}

// quote is a value as it stands on its line: in quotes where it would be read as another one.
func quote(value string) string {
	quoted := strconv.Quote(value)
	if quoted != `"`+value+`"` || strings.TrimSpace(value) != value || strings.Contains(value, " #") || strings.IndexAny(value, "['-") == 0 {
		return quoted
	}
	return value
}
