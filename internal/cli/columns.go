package cli

import (
	"os"

	"golang.org/x/term"
)

// columns is the width of the terminal, 80 when it does not say.
func columns() int {
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 20 {
		return w
	}
	return 80
}
