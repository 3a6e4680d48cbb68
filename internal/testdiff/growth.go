package testdiff

import (
	"path"

	"github.com/ralph-loop/ralph/internal/testdiff/language"
)

// growth is what tests have got by the patch.
type growth struct {
	byLine map[string][]*test
	tables map[string][]grownTable // by folder
}

type grownTable struct {
	words words
	added words // of them, those in lines that the patch adds
}

func (f *finder) growth() growth {
	g := growth{map[string][]*test{}, map[string][]grownTable{}}
	for _, x := range f.files {
		if !x.lives() {
			continue
		}
		for _, t := range x.after {
			var added, all words
			rows := t.has(language.Table)
			for _, l := range t.lines {
				if rows {
					collect(x.x, &all, l.code, l.text)
				}
				if !l.changed {
					continue
				}
				if rows {
					collect(x.x, &added, l.code, l.text)
				}
				if s := squeeze(l.code, l.text); telling(s) {
					g.byLine[s] = append(g.byLine[s], t)
				}
			}
			if added.size() > 0 {
				folder := path.Dir(x.name)
				g.tables[folder] = append(g.tables[folder], grownTable{all, added})
			}
		}
	}
	return g
}

// tookLines reports whether most lines of o are now in one other test.
func (g growth) tookLines(o *test) bool {
	count := map[*test]int{}
	body := o.body()
	for _, l := range body.list {
		var last *test
		for _, t := range g.byLine[l] {
			if t == last { // a line that it has twice is one
				continue
			}
			last = t
			if count[t]++; float64(count[t]) >= mostlyIn*float64(body.size()) {
				return true
			}
		}
	}
	return false
}

// tookRows reports whether what o tried is now a row of a table.
func (g growth) tookRows(o *test) bool {
	words := o.words()
	for _, t := range g.tables[path.Dir(o.file.old)] {
		if words.size() > 2 && float64(words.shared(t.words)) >= wordsIn*float64(words.size()) && 4*words.shared(t.added) >= words.size() {
			return true
		}
	}
	return false
}
