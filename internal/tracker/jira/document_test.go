package jira

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/tracker"
)

// What an issue has of structure is Markdown in its spec.
func TestPlain(t *testing.T) {
	const doc = `{"type":"doc","version":1,"content":[
		{"type":"heading","attrs":{"level":2},"content":[{"type":"text","text":"Codes"}]},
		{"type":"paragraph","content":[{"type":"text","text":"See "},{"type":"text","text":"this","marks":[{"type":"link","attrs":{"href":"https://x.example/a"}}]},{"type":"hardBreak"},{"type":"mention","attrs":{"text":"@Mia","id":"1"}},{"type":"text","text":" run","marks":[{"type":"code"}]}]},
		{"type":"bulletList","content":[{"type":"listItem","content":[{"type":"paragraph","content":[{"type":"text","text":"one"}]},{"type":"orderedList","content":[{"type":"listItem","content":[{"type":"paragraph","content":[{"type":"text","text":"first"}]}]}]}]}]},
		{"type":"codeBlock","attrs":{"language":"go"},"content":[{"type":"text","text":"a := ` + "```" + `b` + "```" + `\n"}]},
		{"type":"blockquote","content":[{"type":"paragraph","content":[{"type":"text","text":"x"}]},{"type":"paragraph","content":[{"type":"text","text":"y"}]}]},
		{"type":"table","content":[{"type":"tableRow","content":[{"type":"tableCell","content":[{"type":"paragraph","content":[{"type":"text","text":"a"}]}]},{"type":"tableCell","content":[{"type":"paragraph","content":[{"type":"text","text":"b"}]}]}]}]},
		{"type":"mediaSingle","content":[{"type":"media","attrs":{"id":"77","alt":"till.png"}}]}]}`
	want := strings.Join([]string{
		"## Codes", "See [this](https://x.example/a)\n@Mia` run`", "- one\n   1. first", "````go\na := ```b```\n````", "> x\n> \n> y", "| a | b |", "(a picture: till.png)",
	}, "\n\n")
	if got := plain(json.RawMessage(doc)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := plain(json.RawMessage(`"h1. text of a Data Center"`)); got != "h1. text of a Data Center" {
		t.Errorf("%q", got)
	}
	deep := strings.Repeat(`{"type":"panel","content":[`, 5000) + strings.Repeat(`]}`, 5000)
	if got := plain(json.RawMessage(deep)); len(got) > 1000 {
		t.Errorf("%d bytes of nothing", len(got))
	}
	own, err := json.Marshal(document(tracker.Comment{Marker: "j-1", Text: "Done.\n\n- one\n- two"}))
	if got := plain(own); err != nil || got != "Done.\n\n- one\n- two\n\nralph:j-1" {
		t.Errorf("%q, %v", got, err)
	}
}

// What is quoted in a query cannot end its quotation.
func TestJQL(t *testing.T) {
	c := &Client{access: tracker.Access{Project: "PROJ"}}
	got, err := c.jql(`label:"a\b" is:closed author:mia`)
	if want := `project = "PROJ" AND labels = "a\\b" AND statusCategory = Done AND creator = "mia" ORDER BY created ASC`; err != nil || got != want {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
}
