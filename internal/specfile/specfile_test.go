package specfile

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		head       Head
		body       string
	}{
		{"none", "# Say hello\n", Head{}, "# Say hello\n"},
		{
			"all",
			"---\nissue: acme/shop#12\nland: pr\nbranch: ralph/hello\npull: acme/shop#40\nround: 2\nsource: https://example.test/12\n---\n\n# Say hello\n",
			Head{Issue: "acme/shop#12", Land: ralph.LandPull, Branch: "ralph/hello", Pull: "acme/shop#40", Round: 2, Source: "https://example.test/12"},
			"# Say hello\n",
		},
		{"unknown keys and values", "---\ntitle: x\nland: rocket\nround: -4\n---\nbody", Head{}, "body"},
		{"a rule is no head", "---\n\n# Say hello\n\nno end", Head{}, "---\n\n# Say hello\n\nno end"},
		{"windows", "\ufeff---\r\nissue: PROJ-7\r\n---\r\n\r\nbody\r\n", Head{Issue: "PROJ-7"}, "body\r\n"},
		{"quoted", "---\nissue: \"ado:123\"\n---\nx", Head{Issue: "ado:123"}, "x"},
		{"a bracket in quotes", "---\nissue: \"[x]\"\n---\nx", Head{Issue: "[x]"}, "x"},
		{"a list of items", "---\nissue: [acme/shop#12, \"PROJ-7\"] # both\n---\nx", Head{Issue: "acme/shop#12", Also: []string{"PROJ-7"}}, "x"},
		{"a list of lines", "---\nissue:\n  - acme/shop#12\n- 'ado:1'\npriority: 5 # soon\n...\nx", Head{Issue: "acme/shop#12", Also: []string{"ado:1"}, Priority: "5"}, "x"},
		{"labels of a worker", "---\nworker: gpu # a big one\n---\nx", Head{Worker: []string{"gpu"}}, "x"},
		{"a list of labels", "---\nworker: [gpu, 'os=windows']\nissue: PROJ-7\n---\nx", Head{Issue: "PROJ-7", Worker: []string{"gpu", "os=windows"}}, "x"},
		{"labels on lines", "---\nworker:\n  - gpu\n  - os=windows\n---\nx", Head{Worker: []string{"gpu", "os=windows"}}, "x"},
		{"too long", "---\n" + strings.Repeat("a: b\n", 4000) + "---\nx", Head{}, "---\n" + strings.Repeat("a: b\n", 4000) + "---\nx"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			head, body := Parse(tt.text)
			if !reflect.DeepEqual(head, tt.head) || body != tt.body {
				t.Errorf("got %+v and %.80q\nwant %+v and %.80q", head, body, tt.head, tt.body)
			}
		})
	}
}

// Whatever a head is made of comes back, and never becomes part of the text below it.
func TestFormatComesBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		// Letters that mean something in a head, and any others.
		value := rapid.OneOf(rapid.StringOf(rapid.SampledFrom([]rune("[]\"'#:-., \\a"))), rapid.String())
		h := Head{Issue: value.Draw(rt, "issue"), Priority: value.Draw(rt, "priority"), Source: value.Draw(rt, "source"), Branch: value.Draw(rt, "branch"), Round: rapid.IntRange(2, 9).Draw(rt, "round")}
		if h.Issue != "" && rapid.Bool().Draw(rt, "list") {
			h.Also = rapid.SliceOfN(rapid.StringN(1, 20, -1), 1, 3).Draw(rt, "also")
		}
		if rapid.Bool().Draw(rt, "labels") {
			h.Worker = rapid.SliceOfN(rapid.StringN(1, 20, -1), 1, 3).Draw(rt, "worker")
		}
		for _, s := range append(append(h.Items(), h.Source, h.Branch, h.Priority), h.Worker...) {
			if strings.ToValidUTF8(s, "") != s || len(s) > 1000 {
				rt.Skip()
			}
		}
		body := "# " + rapid.StringMatching(`[a-z ]{1,20}`).Draw(rt, "body")
		got, rest := Parse(Format(h, body))
		if !reflect.DeepEqual(got, h) || rest != body {
			rt.Errorf("got %+v and %q, want %+v and %q", got, rest, h, body)
		}
	})
}
