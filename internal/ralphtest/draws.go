package ralphtest

import (
	"flag"
	"maps"
	"slices"
	"strconv"
	"testing"
)

// Draws has each property of a package draw n times where nobody has asked for a number
// with -rapid.checks: in the suite of every day. With the tag soak it draws as often as rapid does.
func Draws(n int) {
	flag.Parse()
	if Thorough() {
		return
	}
	if testing.Short() {
		n = max(n, 5) // rapid divides it by five, and a property that draws nothing holds
	}
	if f := flag.Lookup("rapid.checks"); f != nil {
		_ = f.Value.Set(strconv.Itoa(n)) // flag.Set would count as asked for
	}
}

// Rounds is how often a test does again what goes wrong once in many times: few in the suite
// of every day, many where Thorough.
func Rounds(few, many int) int {
	if Thorough() {
		return many
	}
	return few
}

// Cases are every n-th of a table's cases in the suite of every day, from the first on, and all of
// them where Thorough.
func Cases[T any](n int, all []T) []T {
	if Thorough() {
		return all
	}
	var some []T
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// Named is Cases of a table by name: every n-th name in their order.
func Named[T any](n int, all map[string]T) map[string]T {
	some := map[string]T{}
	for _, name := range Cases(n, slices.Sorted(maps.Keys(all))) {
		some[name] = all[name]
	}
	return some
}

// NeedsTime skips a test that takes long, but where Thorough.
func NeedsTime(t *testing.T) {
	t.Helper()
	if !Thorough() {
		t.Skip("takes long: with the tag soak")
	}
}

// Thorough reports whether there is time for every case: with the tag soak, or where someone
// asked for a number of checks.
func Thorough() bool { return soak || asked("rapid.checks") }

// asked reports whether a flag was given.
func asked(name string) bool {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}
