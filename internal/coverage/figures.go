package coverage

import (
	"fmt"
	"path"
)

// figures is what a report adds up to.
type figures struct {
	covered, total int64
	// lines are the lines that can be covered, by file, and whether they were; nil in
	// a report that has only totals, or counts something else.
	lines lines
}

// checked refuses figures that cannot be.
func (f figures) checked() (figures, error) {
	if f.covered < 0 || f.covered > f.total {
		return figures{}, fmt.Errorf("says that %d of %d are covered", f.covered, f.total)
	}
	return f, nil
}

type lines map[string]map[int]bool

// hit notes a line. A line of which one part was reached counts as reached.
func (l lines) hit(file string, line int, reached bool) {
	of := l[file]
	if of == nil {
		of = map[int]bool{}
		l[file] = of
	}
	of[line] = of[line] || reached
}

func (l lines) count() (covered, total int64) {
	for _, of := range l {
		for _, reached := range of {
			total++
			if reached {
				covered++
			}
		}
	}
	return covered, total
}

// add sums reports. Two test programs that measure the same file, as .NET's test
// projects do, must not make it count twice: where all reports name lines by full
// path, each line counts once.
func add(parts []figures) figures {
	if len(parts) == 1 {
		return parts[0]
	}
	var out figures
	all := lines{}
	for _, p := range parts {
		out.covered += p.covered
		out.total += p.total
		if p.lines == nil {
			all = nil
		}
		for file, of := range p.lines {
			if all == nil || !isFull(file) {
				all = nil
				break
			}
			for line, reached := range of {
				all.hit(file, line, reached)
			}
		}
	}
	if all != nil {
		out.covered, out.total = all.count()
	}
	return out
}

// isFull reports whether a file is named by its full path, on any system.
func isFull(file string) bool {
	return path.IsAbs(file) || len(file) > 2 && file[1] == ':'
}
