package ralphtest

// Taken is what a screen switches on when it takes a terminal, and what gives each of that back: the
// second screen, no cursor, the mouse, pasted text.
func Taken() map[string]string {
	return map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?25l": "\x1b[?25h", "\x1b[?1002h": "\x1b[?1002l", "\x1b[?2004h": "\x1b[?2004l"}
}
