package views

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// versions remembers what a view said before, by hash. A file that is, to the letter,
// what it was before the journal moved on was put back by git or an editor: a stash, a
// checkout, a switch of branches. Nobody wrote that, so nothing of it is wanted.
// One that a person changed and changed back, with nothing in between, is an edit.
//
// The list is a help, not a truth: it is not synced, and lost it leaves the rules for
// single records, which let nothing that happened be undone.
type versions struct {
	path  string
	moved bool // facts changed the view since the newest version

	size int64          // of the file, as it was read
	age  int            // of the newest version
	ages map[string]int // by hash; the newest age of each
	last string
}

// maxVersions is how many lines the list has at most; then the older half goes.
const maxVersions = 4000

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// load reads the list, unless it is known. What cannot be read is no version.
func (v *versions) load() {
	info, err := os.Stat(v.path)
	if err != nil {
		v.size, v.age, v.ages, v.last = 0, 0, map[string]int{}, ""
		return
	}
	if v.ages != nil && info.Size() == v.size {
		return
	}
	v.size, v.age, v.ages, v.last = info.Size(), 0, map[string]int{}, ""
	f, err := os.Open(v.path)
	if err != nil {
		return
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var age int
		var hash string
		if n, _ := fmt.Sscan(lines.Text(), &age, &hash); n == 2 {
			v.age, v.ages[hash], v.last = age, age, hash
		}
	}
}

// note remembers what the view says now: ours, as the journal has it, or as somebody
// saved it; what was known of that before stays as old as it is.
func (v *versions) note(text string, ours bool) {
	v.load()
	hash := hashOf(text)
	if _, known := v.ages[hash]; hash == v.last || known && !ours {
		return
	}
	if v.moved {
		v.age++
		v.moved = false
	}
	v.ages[hash], v.last = v.age, hash
	v.write(fmt.Sprintf("%d %s\n", v.age, hash))
}

// write appends a line, or begins the list anew with its newer half.
func (v *versions) write(line string) {
	if len(v.ages) > maxVersions {
		var b strings.Builder
		for hash, age := range v.ages { // of one age the order says nothing
			if age > v.age-maxVersions/2 && hash != v.last {
				fmt.Fprintf(&b, "%d %s\n", age, hash)
			}
		}
		b.WriteString(line)
		if _, err := WriteAtomic(v.path, []byte(b.String()), 0o600, false); err == nil {
			v.ages = nil // the next load reads it
		}
		return
	}
	f, err := os.OpenFile(v.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	if _, err := f.WriteString(line); err == nil {
		v.size += int64(len(line))
	}
	_ = f.Close()
}

// older reports whether the view said exactly this before something happened.
func (v *versions) older(text string) bool {
	v.load()
	age, known := v.ages[hashOf(text)]
	return known && (age < v.age || v.moved)
}
