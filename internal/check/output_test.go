package check

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/text"
	"pgregory.net/rapid"
)

// Whatever comes in whatever pieces: never more than the limit, always valid
// text, the head and the tail are the stream's, and kept and cut add up.
func TestRenderKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 300).Draw(t, "limit")
		piece := rapid.OneOf(rapid.StringN(0, 40, 120), rapid.SampledFrom([]string{"\n", "a\n", "äöü\n", "\xff\xfe", "€€€€"}))
		stream := func(name string) (*text.HeadTail, string) {
			k, all := text.NewHeadTail(limit), ""
			for _, p := range rapid.SliceOfN(piece, 0, 12).Draw(t, name) {
				if n, err := k.Write([]byte(p)); n != len(p) || err != nil {
					t.Fatalf("write: %d, %v", n, err)
				}
				all += p
			}
			return k, all
		}
		stderr, e := stream("stderr")
		stdout, o := stream("stdout")
		shown, cut := render(stderr, stdout, limit)
		if !utf8.ValidString(shown) {
			t.Fatalf("not UTF-8: %q", shown)
		}
		total := int64(len(e) + len(o))
		if total <= limit && limit%2 == 0 && (cut != 0 || !strings.Contains(shown, strings.ToValidUTF8(o, "\uFFFD"))) {
			t.Fatalf("cut %d of %d, limit %d: %q", cut, total, limit, shown)
		}
		if left := total - cut; left < 0 || left > limit {
			t.Fatalf("kept %d of %d, limit %d", left, total, limit)
		}
		for _, s := range []struct {
			k   *text.HeadTail
			all string
		}{{stderr, e}, {stdout, o}} {
			part, missing := shortened(s.k, limit/2)
			if missing == 0 {
				continue
			}
			head, tail, ok := strings.Cut(part, fmt.Sprintf("... %d bytes left out ...\n", missing))
			head = strings.TrimSuffix(head, "\n")
			if !ok || !strings.HasPrefix(s.all, head) || !strings.HasSuffix(s.all, tail) {
				t.Fatalf("%q is not head and tail of %q", part, s.all)
			}
		}
	})
}

func TestCutsFallBetweenCharacters(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ in, head, tail string }{
		"lines":           {"aaaa\nbbbb\ncc", "aaaa\nbbbb\n", "bbbb\ncc"},
		"one long line":   {"aaaaaaaaaa", "aaaaaaaaaa", "aaaaaaaaaa"},
		"early newline":   {"a\nbbbbbbbbbb", "a\nbbbbbbbbbb", "bbbbbbbbbb"},
		"half characters": {"\x82\xacaaaa\xe2\x82", "\x82\xacaaaa", "aaaa\xe2\x82"},
		"binary":          {"\x80\x80\x80\x80\x80", "\x80\x80\x80\x80\x80", "\x80\x80\x80\x80\x80"},
		"nothing":         {"", "", ""},
	} {
		if got := string(headLines([]byte(x.in))); got != x.head {
			t.Errorf("%s: head %q", name, got)
		}
		if got := string(tailLines([]byte(x.in))); got != x.tail {
			t.Errorf("%s: tail %q", name, got)
		}
	}
}
