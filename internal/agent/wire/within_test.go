package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Of what is JSON the quick way reads the same members and elements as the careful one.
func TestWithin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := valueOf(3).Draw(t, "value")
		members := func(each func([]byte, func(key, value []byte))) string {
			var b strings.Builder
			each([]byte(text), func(key, value []byte) { b.WriteString(string(key) + " = " + string(value) + "\n") })
			return b.String()
		}
		elements := func(each func([]byte, func(value []byte))) string {
			var b strings.Builder
			each([]byte(text), func(value []byte) { b.WriteString(string(value) + "\n") })
			return b.String()
		}
		want := members(func(v []byte, yield func(key, value []byte)) { EachMember(v, yield) })
		if got := members(Members); got != want {
			t.Fatalf("%s\nhas the members\n%swant\n%s", text, got, want)
		}
		want = elements(func(v []byte, yield func(value []byte)) { EachElement(v, yield) })
		if got := elements(Elements); got != want {
			t.Fatalf("%s\nhas the elements\n%swant\n%s", text, got, want)
		}
	})
}

// valueOf are JSON values with spaces where there may be some, and with strings full of what means
// something outside of them.
func valueOf(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		space := rapid.SampledFrom([]string{"", "", " ", "\n\t", " \r\n "})
		str := func(label string) string {
			words := rapid.SliceOfN(rapid.SampledFrom([]string{`"`, `\`, `\\"`, "{", "]", ",", ":", "a", "é", "\n", "\u0001", "😀"}), 0, 6).Draw(t, label)
			b, _ := json.Marshal(strings.Join(words, ""))
			return string(b)
		}
		kind := rapid.IntRange(0, 4).Draw(t, "kind")
		if depth == 0 {
			kind %= 3
		}
		var parts []string
		switch kind {
		case 0:
			return str("string")
		case 1:
			return rapid.SampledFrom([]string{"0", "-1.5e+3", "17"}).Draw(t, "number")
		case 2:
			return rapid.SampledFrom([]string{"true", "false", "null", "{}", "[]", "{ }", "[ ]"}).Draw(t, "word")
		case 3:
			for range rapid.IntRange(0, 4).Draw(t, "n") {
				parts = append(parts, space.Draw(t, "s")+str("key")+space.Draw(t, "s")+":"+space.Draw(t, "s")+valueOf(depth-1).Draw(t, "v")+space.Draw(t, "s"))
			}
			return "{" + strings.Join(parts, ",") + "}"
		}
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			parts = append(parts, space.Draw(t, "s")+valueOf(depth-1).Draw(t, "v")+space.Draw(t, "s"))
		}
		return "[" + strings.Join(parts, ",") + "]"
	})
}

// What is no JSON at all ends the quick way too, whatever it is.
func TestWithinEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("{}[]\",:\\ a1\n"))).Draw(t, "text")
		n := 0
		Members([]byte(text), func(_, _ []byte) { n++ })
		Elements([]byte(text), func(_ []byte) { n++ })
		if n > 2*len(text) {
			t.Fatalf("%d values in %q", n, text)
		}
	})
}
