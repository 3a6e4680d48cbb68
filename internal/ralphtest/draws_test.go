package ralphtest

import (
	"flag"
	"slices"
	"testing"
)

// What the suite of every day leaves out is there where it is asked for, and only there: a package that draws
// few has not asked for anything. The tag soak is such an asking.
func TestEveryDay(t *testing.T) { //nolint:paralleltest // the flag is the process's
	if flag.Lookup("rapid.checks") == nil {
		flag.Int("rapid.checks", 100, "as rapid has it")
	}
	all := []int{1, 2, 3, 4, 5, 6, 7}
	want, drawn, rounds := []int{1, 4, 7}, "9", 2
	if soak || asked("rapid.checks") {
		want, drawn, rounds = all, flag.Lookup("rapid.checks").Value.String(), 50
	}
	Draws(9)
	if got := flag.Lookup("rapid.checks").Value.String(); got != drawn && !testing.Short() {
		t.Errorf("properties draw %s times, want %s", got, drawn)
	}
	if got := Cases(3, all); !slices.Equal(got, want) {
		t.Errorf("cases %v, want %v", got, want)
	}
	if got := Named(2, map[string]int{"a": 1, "b": 2, "c": 3}); got["a"] != 1 || got["c"] != 3 || (len(got) == 3) != (len(want) == len(all)) {
		t.Errorf("by name %v", got)
	}
	if got := Rounds(2, 50); got != rounds {
		t.Errorf("%d rounds, want %d", got, rounds)
	}
	if err := flag.Set("rapid.checks", "200"); err != nil {
		t.Fatal(err)
	}
	if !Thorough() {
		t.Error("a number that was asked for is none")
	}
}
