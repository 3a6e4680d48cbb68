package report

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible is a text of an agent's as a person may see it on a terminal: its lines and
// tabs stay, what would steer the terminal, turn the direction of writing or not be
// seen at all is written as an escape. A person who is to allow a command sees every
// sign of it.
func Visible(s string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n") {
		switch {
		case r == '\n' || r == '\t' || r == zeroWidthJoiner:
			b.WriteRune(r)
		case unicode.IsControl(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// zeroWidthJoiner holds pictures together that are one to people.
const zeroWidthJoiner = '\u200d'
