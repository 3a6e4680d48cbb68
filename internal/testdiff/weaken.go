package testdiff

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/testdiff/language"
	"github.com/ralph-loop/ralph/internal/text"
)

// asserts lists the assertions of a test, once.
func (t *test) asserts() []assertion {
	if !t.read {
		t.read, t.all = true, t.assertions()
	}
	return t.all
}

// learn finds functions that the patch adds, or takes, for tests to call, by
// whether they assert or skip.
func (f *finder) learn() {
	for _, x := range f.files {
		for _, t := range slices.Concat(x.before, x.after) {
			if t.outside {
				f.learnFrom(t)
			}
		}
	}
}

func (f *finder) learnFrom(t *test) {
	for i, l := range t.lines {
		if l.has&(language.Assert|language.Fail|language.Skip|language.Guard) == 0 {
			continue
		}
		fn, ok := t.function(i)
		if !ok || !fn.changed {
			continue
		}
		name, _ := t.file.x.Function(fn.code)
		if l.has&(language.Assert|language.Fail) != 0 {
			f.helpers.add(name)
		}
		if l.has&(language.Skip|language.Guard) != 0 {
			f.skippers.add(name)
		}
	}
}

// function returns the head of the function that line i is in, as far as it shows.
func (t *test) function(i int) (*line, bool) {
	if t.file.x.Function == nil {
		return nil, false
	}
	indent := t.lines[i].indent
	for j := i; j >= 0; j-- {
		l := t.lines[j]
		if l.indent < 0 || l.indent >= indent && j != i || strings.TrimSpace(l.code) == "{" {
			continue
		}
		indent = l.indent
		if _, ok := t.file.x.Function(l.code); ok {
			return l, true
		}
	}
	return nil, false
}

// calls reports whether code calls one of the functions.
func (w *words) calls(code string) (found bool) {
	if w.size() == 0 {
		return false
	}
	language.EachWord(code, func(from, end int) {
		found = found || w.has(code[from:end]) && end < len(code) && strings.IndexByte("( ", code[end]) >= 0
	})
	return found
}

// countMoved counts what the patch adds, or for skips takes, anywhere: what is gone
// here and new there has only moved.
func (f *finder) countMoved() {
	f.moved = map[string]int{}
	for _, x := range f.files {
		for _, t := range x.after {
			if !t.changed() {
				continue
			}
			_, gained := t.differing()
			for _, a := range gained {
				f.moved[a.text]++
			}
			for _, l := range t.lines {
				if l.changed && l.has&language.Row != 0 {
					f.moved["row "+squeeze(l.code, l.text)]++
				}
			}
		}
		for _, t := range x.before {
			for _, l := range t.lines {
				if l.changed && l.has&(language.Skip|language.Guard|language.Focus) != 0 {
					f.moved["mark "+squeeze(l.code, l.text)]++
				}
			}
		}
	}
}

// take reports whether a row, a skip or a focus has only moved, once for each.
func (f *finder) take(l *line) bool {
	kind := "mark "
	if l.has&language.Row != 0 {
		kind = "row "
	}
	key := kind + squeeze(l.code, l.text)
	if f.moved[key] > 0 {
		f.moved[key]--
		return true
	}
	return false
}

// unmoved counts the assertions that are nowhere else in the patch.
func (f *finder) unmoved(all []assertion) (n int) {
	for _, a := range all {
		if f.moved[a.text] == 0 {
			n++
		}
	}
	return n
}

// differing returns the assertions that only one of a test and its mate has.
func (t *test) differing() (lost, gained []assertion) {
	if t.differed {
		return t.lost, t.gained
	}
	var had []assertion
	if t.mate != nil {
		had = t.mate.asserts()
	}
	left := make(map[string]int, len(had))
	for _, a := range had {
		left[a.text]++
	}
	for _, a := range t.asserts() {
		if left[a.text] > 0 {
			left[a.text]--
		} else {
			gained = append(gained, a)
		}
	}
	for _, a := range slices.Backward(had) {
		if left[a.text] > 0 {
			left[a.text]--
			lost = append(lost, a)
		}
	}
	slices.Reverse(lost)
	t.differed, t.lost, t.gained = true, lost, gained
	return lost, gained
}

// compareAssertions finds a place for each assertion that a test has lost: the same
// elsewhere, one that asks for as much, a function or a table that does it now. What
// has none has got looser, or is gone.
func (f *finder) compareAssertions(o, n *test) {
	lost, gained := n.differing()
	if len(lost) == 0 || f.takenOver(o, n) {
		return
	}
	for i := range lost {
		lost[i] = weigh(o.file.x, lost[i])
	}
	for i := range gained {
		gained[i] = weigh(n.file.x, gained[i])
	}
	drops := n.adds(o, language.Soft)
	lost = slices.DeleteFunc(lost, func(a assertion) bool {
		if f.moved[a.text] > 0 {
			f.moved[a.text]--
			return true
		}
		return a.setup && !drops || o.outside && (a.level == vague || o.without(a))
	})
	lost, left := replaced(lost, gained)
	var gone []assertion
	for _, a := range lost {
		at := slices.IndexFunc(left, func(g assertion) bool { return looser(a, g) })
		if at >= 0 {
			f.reportLooser(n, a, left[at])
			left = slices.Delete(left, at, at+1)
			continue
		}
		gone = append(gone, a)
	}
	gone = gone[:max(0, len(gone)-len(left))] // replaced by something about something else
	gone = slices.DeleteFunc(gone, func(a assertion) bool { return n.covers(a, gained) })
	if len(gone) == 0 {
		return
	}
	what := o.labelAt(gone[0].line) + ": " + text.Count(len(gone), "assertion") + " gone: " + gone[0].show()
	if drops {
		what += ", and what fails is only noted or dropped"
	}
	f.report(o.file.change, gone[0].line, Weakened, what)
}

func (f *finder) reportLooser(n *test, was, is assertion) {
	what := ": asks for less: "
	if is.level == trivial {
		what = ": always holds: "
	}
	f.report(n.file.change, is.line, Weakened, n.labelAt(is.line)+what+is.show()+" (was "+was.show()+")")
}

// adds reports whether n has more lines of a class than o.
func (t *test) adds(o *test, c language.Class) bool {
	n := 0
	for _, l := range t.lines {
		if l.has&c != 0 {
			n++
		}
	}
	for _, l := range o.lines {
		if l.has&c != 0 {
			n--
		}
	}
	return n > 0
}

// takenOver reports whether the lines that a test has got call a function that
// asserts, or go through a table with what is asserted for each row.
func (f *finder) takenOver(o, n *test) bool {
	asks := func(a assertion) bool { return weigh(n.file.x, a).level > trivial }
	if n.adds(o, language.Table) && slices.ContainsFunc(n.asserts(), asks) {
		return true
	}
	calls := func(t *test) (n int) {
		for _, l := range t.lines {
			if l.changed && l.number != t.declared && (f.helpers.calls(l.code) || l.has&(language.Assert|language.Fail) == 0 && asserting(l.code)) {
				n++
			}
		}
		return n
	}
	return calls(n) > calls(o)
}

// asserting reports whether code calls a function that asserts by its name.
func asserting(code string) (found bool) {
	language.EachWord(code, func(from, end int) {
		if found || end >= len(code) || code[end] != '(' && code[end] != ' ' {
			return
		}
		for _, verb := range []string{"assert", "check", "verify", "expect", "require", "must", "ensure", "should", "validate"} {
			word := code[from:end]
			if len(word) > len(verb) && strings.EqualFold(word[:len(verb)], verb) &&
				(word[len(verb)] == '_' || word[len(verb)] >= 'A' && word[len(verb)] <= 'Z') {
				found = code[end] == '(' || from == len(code)-len(strings.TrimLeft(code, " \t"))
				return
			}
		}
	})
	return found
}

// without reports whether the function that a was in is gone as a whole.
func (t *test) without(a assertion) bool {
	for i, l := range t.lines {
		if l.number == a.line {
			fn, ok := t.function(i)
			return ok && fn.changed
		}
	}
	return false
}

// replaced takes out each lost assertion for which one came that asks for as much,
// the strongest first, and returns what is left on both sides.
func replaced(lost, gained []assertion) (rest, left []assertion) {
	left = slices.Clone(gained)
	order := slices.Clone(lost)
	slices.SortStableFunc(order, func(a, b assertion) int { return int(b.level - a.level) })
	for _, a := range order {
		best := -1
		for i, g := range left {
			if g.worth < a.level || g.level == trivial {
				continue
			}
			if best < 0 || near(a, g) > near(a, left[best]) {
				best = i
			}
		}
		if best < 0 {
			rest = append(rest, a)
			continue
		}
		left = slices.Delete(left, best, best+1)
	}
	return rest, left
}

// near says how much two assertions belong together; the same strength first, so
// that a strong one is not spent on a weak one.
func near(a, b assertion) int { return a.words.shared(b.words)*4 - int(b.worth-a.level) }

// looser reports whether g asks for less than a did of the same thing.
func looser(a, g assertion) bool {
	switch {
	case g.worth >= a.level:
		return false
	case g.level == trivial:
		return true
	case g.level == vague && !g.loose:
		return a.words.size() == 0 || a.words.shared(g.words) > 0
	}
	return g.words.within(a.words)
}

// covers reports whether the test still asks for what a lost assertion asked: by
// another that a vague one follows from, or by one that compares as a whole what
// was compared piece by piece.
func (t *test) covers(a assertion, gained []assertion) bool {
	if a.level == vague && a.words.size() > 0 {
		for _, b := range t.asserts() {
			if b = weigh(t.file.x, b); b.level > trivial && a.words.within(b.words) {
				return true
			}
		}
	}
	if a.words.size() == 0 || !slices.ContainsFunc(gained, func(b assertion) bool { return b.level == full }) {
		return false
	}
	values := a.words.literals()
	if values.size() > 0 && slices.ContainsFunc(gained, func(b assertion) bool { return b.level == full && values.within(b.words) }) {
		return true
	}
	var added words
	for _, l := range t.lines {
		if l.changed {
			collect(t.file.x, &added, l.code, l.text)
		}
	}
	return a.words.within(added)
}
