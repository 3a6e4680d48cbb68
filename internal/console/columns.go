package console

import (
	"os"

	"golang.org/x/term"
)

// Size is the size of the terminal, 80 by 24 when it does not say.
func Size() (columns, rows int) {
	if w, h, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 20 && h > 1 {
		return w, h
	}
	return 80, 24
}
