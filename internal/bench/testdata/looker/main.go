// Looker is `ralph status` and nothing else, by the code that ralph answers it with: what memory a second,
// small program could spare is seen by it.
//
//	looker status
package main

import (
	"os"

	_ "github.com/ralph-loop/ralph/internal/early"
)

func main() {
	os.Exit(1) // it is not one that is answered early
}
