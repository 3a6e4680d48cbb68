package ralph

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// What commands print is no part of the state: it lies in the folder of its turn, under a
// name that a fact has with its hash. Facts hold its head and tail, by which people and
// policy see what it is about; whoever needs the whole reads the file.

const (
	// maxOutput is how much of all outputs a fact holds, in bytes.
	maxOutput = 3 << 10
	// maxGreen is how much of it the outputs of checks that pass may take.
	maxGreen = 1 << 10
	// maxGreenOne is how much one of these may take.
	maxGreenOne = 512
)

// Whole says where the whole lies of what a fact shortens.
type Whole struct {
	// Record is the SHA-256 sum of File in the folder Dir, relative to the repository.
	Record string `json:"record,omitempty"`
	Dir    string `json:"dir,omitempty"`
	// File is its name there; "" is checks.json, as in facts of old.
	File string `json:"file,omitempty"`
}

// ChecksFile is the name of the file with the newest run of a turn's checks, where nothing
// else is said.
const ChecksFile = "checks.json"

// Path is the file with the whole, relative to the repository, "" when there is none.
func (w Whole) Path() string {
	switch {
	case w.Record == "":
		return ""
	case w.File == "":
		return path.Join(w.Dir, ChecksFile)
	}
	return path.Join(w.Dir, w.File)
}

// BriefResults shortens the outputs of checks to what a fact holds. It returns the list
// itself where that is all of them.
func BriefResults(results []CheckResult) (brief []CheckResult, shortened bool) {
	green, red, total := 0, 0, 0
	for _, r := range results {
		total += len(r.Output)
		switch {
		case r.Output == "":
		case r.Pass:
			green++
		default:
			red++
		}
	}
	if total <= maxGreenOne {
		return results, false
	}
	forGreen := 0
	if green > 0 {
		forGreen = min(maxGreenOne, maxGreen/green)
	}
	forRed := 0
	if red > 0 {
		forRed = (maxOutput - forGreen*green) / red
	}
	brief = make([]CheckResult, len(results))
	for i, r := range results {
		most := forGreen
		if !r.Pass {
			most = forRed
		}
		brief[i] = briefResult(r, most)
		shortened = shortened || brief[i].Brief > 0
	}
	if !shortened {
		return results, false
	}
	return brief, true
}

// withoutGreen are results as the state has them: what a check printed that passes is for
// nobody who decides, and the file has it.
func withoutGreen(results []CheckResult) []CheckResult {
	if !slices.ContainsFunc(results, func(r CheckResult) bool { return r.Pass && r.Brief > 0 }) {
		return results
	}
	out := slices.Clone(results)
	for i, r := range out {
		if r.Pass && r.Brief > 0 {
			out[i].Output, out[i].Brief = "", r.Brief+int64(len(r.Output))
		}
	}
	return out
}

// briefResult shortens one output. What says that there was nothing to run stays in it: how
// a check is red must come out the same from the fact as from the whole.
func briefResult(r CheckResult, most int) CheckResult {
	whole := r
	r.Output, r.Brief = Shorten(r.Output, most)
	switch {
	case missing(whole) == missing(r):
		return r
	case missing(r): // half a line of it looks so
		r.Output, r.Brief = "", int64(len(whole.Output))
		return r
	}
	said := nothingToRun.FindString(whole.Output) + "\n"
	rest, _ := Shorten(whole.Output, max(0, most-len(said)))
	r.Output = said + rest
	r.Brief = int64(max(1, len(whole.Output)-len(r.Output)))
	return r
}

// minShown is the least that is worth to be shown of a long text, in bytes.
const minShown = 120

// Shorten returns at most most bytes of a text, its head and its tail, cut at the borders of
// lines where there are some, with a line between them that says how much is missing; and
// that number. Of what would be too little to tell anything there is nothing.
func Shorten(text string, most int) (short string, left int64) {
	if len(text) <= most {
		return text, 0
	}
	if most < minShown {
		return "", int64(len(text))
	}
	half := (most - len("\n... 1234567890 bytes left out ...\n")) / 2
	head, tail := text[:half], text[len(text)-half:]
	if i := strings.LastIndexByte(head, '\n'); i >= half/2 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < half/2 {
		tail = tail[i+1:]
	}
	for head != "" && !strings.HasSuffix(head, "\n") { // no half character
		if r, n := utf8.DecodeLastRuneInString(head); r != utf8.RuneError || n > 1 {
			break
		}
		head = head[:len(head)-1]
	}
	for tail != "" && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	left = int64(len(text) - len(head) - len(tail))
	mark := fmt.Sprintf("... %d bytes left out ...\n", left)
	if head != "" && !strings.HasSuffix(head, "\n") {
		mark = "\n" + mark
	}
	return head + mark + tail, left
}
