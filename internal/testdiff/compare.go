package testdiff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/testdiff/language"
	"github.com/ralph-loop/ralph/internal/text"
)

// compareFile judges one file, once every test of the patch knows its mate.
func (f *finder) compareFile(x *file) {
	var missing []*test
	all := 0
	for _, t := range x.before {
		if t.declared > 0 {
			all++
		}
		if t.gone() && t.mate == nil && !t.absorbed {
			missing = append(missing, t)
		}
	}
	if x.name == "" || x.ran && !x.runs {
		f.compareGone(x, missing, all)
		return
	}
	for _, t := range missing {
		f.report(x.change, t.declared, Removed, t.name)
	}
	f.compareConstraint(x)
	for _, t := range x.after {
		if t.mate == nil {
			f.judgeNew(t)
		} else if t.changed() || t.mate.changed() {
			f.compareTests(t.mate, t)
		}
	}
}

// compareGone judges a file that is deleted, or that no runner looks at any more.
func (f *finder) compareGone(x *file, missing []*test, all int) {
	switch {
	case !x.ran || x.x.Inline && !x.isTest && all == 0:
	case x.name != "":
		f.report(x.change, 0, Deleted, fmt.Sprintf("was %s; under its new name no test runner looks at it", x.old))
	case all > 0 && len(missing) == all:
		f.report(x.change, 0, Deleted, tests(missing))
	case all > 0:
		for _, t := range missing {
			f.report(x.change, t.declared, Removed, t.name)
		}
	case len(x.hunks) == 0 && x.x.Collects(x.old):
		f.report(x.change, 0, Deleted, "a test file")
	default:
		for _, t := range x.before {
			if n := f.unmoved(t.asserts()); n > 0 {
				f.report(x.change, 0, Deleted, "a test file with "+text.Count(n, "assertion"))
				return
			}
		}
	}
}

// tests names some tests.
func tests(all []*test) string {
	const most = 5
	var names []string
	for _, t := range all[:min(most, len(all))] {
		names = append(names, text.Line(t.name, maxQuote))
	}
	s := text.Count(len(all), "test") + ": " + strings.Join(names, ", ")
	if len(all) > most {
		s += ", …"
	}
	return s
}

// compareConstraint looks for a line that takes the whole file out of the runs.
func (f *finder) compareConstraint(x *file) {
	if x.x.LeavesOut == nil || slices.ContainsFunc(x.before, func(t *test) bool { return t.leavesOut() != nil }) {
		return
	}
	for _, t := range x.after {
		if l := t.leavesOut(); l != nil && l.changed {
			f.report(x.change, l.number, Skipped, "the whole file: "+text.Line(l.text, maxQuote))
		}
	}
}

// leavesOut returns the line that takes the test's file out of the runs.
func (t *test) leavesOut() *line {
	if !t.outside {
		return nil
	}
	for _, l := range t.lines {
		comment := strings.HasPrefix(l.text, "//") && strings.TrimSpace(l.code) == "" && !strings.Contains(l.code, string(language.InString))
		if comment && t.file.x.LeavesOut(l.text, t.file.old == "") {
			return l
		}
	}
	return nil
}

// judgeNew judges a test that was not there. That it skips where something is
// missing is as good as any; that it never runs is not.
func (f *finder) judgeNew(t *test) {
	for i, l := range t.lines {
		if l.changed && l.has&language.Skip != 0 && !t.onCondition(i) {
			f.report(t.file.change, l.number, Skipped, t.label()+": "+text.Line(l.text, maxQuote))
			break
		}
	}
	f.compareFocus(&test{}, t)
}

// onCondition reports whether line i only counts sometimes.
func (t *test) onCondition(i int) bool {
	l := t.lines[i]
	if l.has&language.Guard != 0 || contains(l.code, []string{" if ", " unless ", "skipIf", "skipif"}) {
		return true
	}
	for j := i - 1; j >= 0 && j >= i-8; j-- {
		if above := t.lines[j]; above.indent >= 0 && above.indent < l.indent {
			return conditional(above.code)
		}
	}
	return false
}

// compareTests judges what has become of one test.
func (f *finder) compareTests(o, n *test) {
	if n.outside && !n.counts() {
		return
	}
	f.compareSkips(o, n)
	f.compareFocus(o, n)
	f.compareSwallow(o, n)
	f.compareRows(o, n)
	f.compareAssertions(o, n)
	if !n.outside {
		f.findReturn(n)
	}
}

// counts reports whether what is outside of tests serves them.
func (t *test) counts() bool {
	m := t.file.x.Module
	return t.file.isTest || m != "" && strings.HasPrefix(t.name, m)
}

// skips counts where a test may end early, and how often it surely does.
func (f *finder) skips(t *test) (some, always int, first *line) {
	guards := 0
	for i, l := range t.lines {
		skips := l.has&language.Skip != 0 || l.changed && f.skippers.calls(l.code)
		switch {
		case skips:
			some++
			if !t.onCondition(i) && l.has&language.Skip != 0 {
				always++
			}
		case l.has&language.Guard != 0:
			guards++
		default:
			continue
		}
		if first == nil && l.changed {
			first = l
		}
	}
	if some == 0 {
		some = guards
	}
	return some, always, first
}

func (f *finder) compareSkips(o, n *test) {
	was, wasAlways, _ := f.skips(o)
	is, isAlways, l := f.skips(n)
	if is <= was && isAlways <= wasAlways || l == nil {
		return
	}
	if n.outside && (f.take(l) || n.within(l)) {
		return
	}
	f.report(n.file.change, l.number, Skipped, n.label()+": "+text.Line(l.text, maxQuote))
}

// within reports whether a line is in a function that the patch adds: who calls it
// is judged instead.
func (t *test) within(l *line) bool {
	for i := range t.lines {
		if t.lines[i].number == l.number {
			fn, ok := t.function(i)
			return ok && fn.changed
		}
	}
	return false
}

func (f *finder) compareFocus(o, n *test) {
	was := 0
	for _, l := range o.lines {
		if l.has&language.Focus != 0 {
			was++
		}
	}
	for _, l := range n.lines {
		if l.has&language.Focus == 0 {
			continue
		}
		if was--; was < 0 && l.changed && !f.take(l) {
			f.report(n.file.change, l.number, Focused, text.Line(l.text, maxQuote))
		}
	}
}

func (f *finder) compareSwallow(o, n *test) {
	was := 0
	for _, l := range o.lines {
		if l.has&language.Swallow != 0 {
			was++
		}
	}
	for _, l := range n.lines {
		if l.has&language.Swallow == 0 {
			continue
		}
		if was--; was < 0 && l.changed {
			f.report(n.file.change, l.number, Weakened, n.label()+": failures are dropped: "+text.Line(l.text, maxQuote))
			return
		}
	}
}

// compareRows looks for cases of a table that go without anything in their place.
func (f *finder) compareRows(o, n *test) {
	replaced := map[int]bool{} // runs of changes
	for _, l := range n.lines {
		replaced[l.run] = replaced[l.run] || l.changed && l.indent >= 0
	}
	for _, l := range o.lines {
		if l.changed && l.has&language.Row != 0 && !replaced[l.run] && !f.take(l) {
			f.report(n.file.change, l.number, Removed, "a case of "+n.label()+": "+text.Line(l.text, maxQuote))
		}
	}
}

// findReturn looks for an end that was put before others lines of the test.
func (f *finder) findReturn(n *test) {
	for i, l := range n.lines {
		if !l.changed || strings.Trim(l.code, " \t;") != "return" {
			continue
		}
		for _, next := range n.lines[i+1:] {
			if next.indent < 0 {
				continue
			}
			if next.indent == l.indent && next.number-l.number < 4 && strings.IndexByte(")}]", strings.TrimSpace(next.code)[0]) < 0 {
				f.report(n.file.change, l.number, Skipped, n.label()+": returns before its end")
			}
			break
		}
	}
}
