package text

import (
	"fmt"
	"strings"
	"unicode"
)

// zeroWidthJoiner holds pictures together that are one to people.
const zeroWidthJoiner = '\u200d'

// Visible is a text of an agent's as a person may see it on a terminal: its lines and
// tabs stay, what would steer the terminal, turn the direction of writing or not be
// seen at all is written as an escape. A person who is to allow a command sees every
// sign of it.
func Visible(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	if strings.IndexFunc(s, Hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if Hidden(r) {
			b.WriteString(Escaped(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Hidden says of a sign that a person does not see it as itself.
func Hidden(r rune) bool {
	if r >= ' ' && r < 0x7f || r == '\n' || r == '\t' || r == zeroWidthJoiner {
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Escaped is how Visible writes a hidden sign.
func Escaped(r rune) string {
	if r < 0x80 {
		return fmt.Sprintf(`\x%02x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// SafeLine is a text of an agent's as one line of a terminal or of a message: what would
// steer a terminal is left out, and what else is hidden is Visible, so that nobody takes
// the text for another one.
func SafeLine(s string) string { return Visible(WithoutControl(OneLine(s))) }

// WithoutControl leaves control characters out, line ends and tabs as well.
func WithoutControl(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}
