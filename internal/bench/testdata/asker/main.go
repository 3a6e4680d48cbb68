// Asker is a shim and nothing else: it asks the engine of its turn and becomes the program, by the
// code that ralph does it with. What a second, small program could spare is seen by it.
//
//	asker shim <folder of the turn> <program> [argument ...]
package main

import (
	"os"

	_ "github.com/ralph-loop/ralph/internal/fastpath"
)

func main() {
	os.Exit(1) // the engine did not say yes
}
