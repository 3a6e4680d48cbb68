// Command chatter is an agent that says so many lines a second for the seconds given, in the
// pieces in which programs write: every 50 ms.
package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	rate, _ := strconv.Atoi(os.Args[1])
	seconds, _ := strconv.Atoi(os.Args[2])
	tick := time.NewTicker(50 * time.Millisecond)
	said := 0
	for i := range 20 * seconds {
		<-tick.C
		var b bytes.Buffer
		for ; said < rate*(i+1)/20; said++ {
			fmt.Fprintf(&b, "line %d: I read the form, and the test beside it, to see what is missing there\n", said)
		}
		if _, err := os.Stdout.Write(b.Bytes()); err != nil {
			os.Exit(1)
		}
	}
}
