package specs

import "testing"

// R-M6: what is no text that an agent can read is no spec, and the words say what to do.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"text", "# Grün\n\nÄpfel, 日本\n", ""},
		{"with a mark", "\ufeff# Hello\n", ""},
		{"with the sign for what cannot be read, spelt out", "a \ufffd b\n", ""},
		{"empty", "", "is empty: write down what is to be done"},
		{"blank", " \n\t\n", "is empty: write down what is to be done"},
		{"only a mark", "\ufeff\n", "is empty: write down what is to be done"},
		{"binary", "\x7fELF\x00\x01", "is no text (it holds NUL bytes): a spec is markdown, write down in words what is to be done"},
		{"Latin-1", "# One\n\nGr\xfcn\n", "is not UTF-8 (line 3, byte 0xFC): save it as UTF-8, for instance with iconv -f LATIN1 -t UTF-8"},
		{"cut in a character", "# Gr\xc3", "is not UTF-8 (line 1, byte 0xC3): save it as UTF-8, for instance with iconv -f LATIN1 -t UTF-8"},
		{"UTF-16", "\xff\xfe#\x00", "is UTF-16: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"},
	} {
		if got := Check([]byte(tt.text)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
