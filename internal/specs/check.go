package specs

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Check says why a text can be no spec, with what to do; "" when it can. An agent
// that is given nothing, or what is no text, works on something else.
func Check(text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		return "is UTF-16: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"
	case len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))) == 0:
		return "is empty: write down what is to be done"
	case bytes.IndexByte(text, 0) >= 0:
		return "is no text (it holds NUL bytes): a spec is markdown, write down in words what is to be done"
	}
	for line, at := 1, text; len(at) > 0; {
		r, n := utf8.DecodeRune(at)
		switch {
		case r == utf8.RuneError && n == 1:
			return fmt.Sprintf("is not UTF-8 (line %d, byte 0x%02X): save it as UTF-8, for instance with iconv -f LATIN1 -t UTF-8", line, at[0])
		case r == '\n':
			line++
		}
		at = at[n:]
	}
	return ""
}
