// Command talker is an agent that says ten lines a second for the seconds given, and
// leaves a line in a file of its own.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	seconds, _ := strconv.Atoi(os.Args[1])
	tick := time.NewTicker(100 * time.Millisecond)
	for i := range 10 * seconds {
		<-tick.C
		fmt.Printf("line %d: I read the form, and the test beside it, to see what is missing there\n", i)
	}
	f, err := os.OpenFile("said-"+os.Getenv("RALPH_TASK"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintln(f, "x")
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
