package ado

import (
	"strings"
	"testing"
)

// What an item has of structure is Markdown in its spec; a text that is Markdown already stays.
func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"<div>One<br>two &lt;b&gt; &amp;&nbsp;three</div><div>four</div>":                                 "One\ntwo <b> & three\nfour",
		`<h2>Codes</h2><ul><li>one</li><li>see <a href="https://x.example/?a=1&amp;b">this</a></li></ul>`: "## Codes\n\n- one\n- see this (https://x.example/?a=1&b)",
		`<a href="https://x.example">https://x.example</a>`:                                               "https://x.example",
		`<script>alert("<p>")</script><style>p {}</style>left`:                                            "left",
		`<p>see <img src='https://x.example/a.png' alt=x/></p>`:                                           "see (a picture: https://x.example/a.png)",
		"<pre>a\n  b</pre>":                "```\na\n  b\n```",
		"<td>a</td><td>b</td></tr>1 < 2":   "a | b |\n1 < 2",
		"":                                 "",
		"<":                                "<",
		"<>x</>":                           "x",
		strings.Repeat("<div>", 100) + "x": "x",
	} {
		if got := plain(in); got != want {
			t.Errorf("%s is\n%q, want\n%q", in, got, want)
		}
	}
	w := workItem{Fields: map[string]any{"System.Description": "a List<String>", "Microsoft.VSTS.TCM.ReproSteps": "<div>press</div>"}, MultilineFieldsFormat: map[string]string{"System.Description": "Markdown"}}
	if got := w.body(); got != "a List<String>\n\n## Steps to reproduce\n\npress" {
		t.Errorf("%q", got)
	}
}

// What is quoted in a query cannot end its quotation; a condition is bounded to the project.
func TestWIQL(t *testing.T) {
	const all = "SELECT [System.Id] FROM WorkItems WHERE [System.TeamProject] = @project AND "
	for in, want := range map[string]string{
		`label:it's is:closed author:mia`: all + "[System.Id] > 0 AND [System.CreatedBy] = 'mia' AND [System.State] IN ('Closed', 'Done', 'Resolved', 'Removed', 'Completed') AND [System.Tags] CONTAINS 'it''s' ORDER BY [System.CreatedDate] ASC",
		"[System.Tags] CONTAINS 'x' OR 1": all + "([System.Tags] CONTAINS 'x' OR 1)",
		"select [System.Id] from x":       "select [System.Id] from x",
	} {
		if got, _, err := wiqlOf(in); err != nil || got != want {
			t.Errorf("%s is\n%s, want\n%s (%v)", in, got, want, err)
		}
	}
}
