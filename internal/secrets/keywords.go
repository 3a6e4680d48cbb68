package secrets

import "sync"

// keywords says in one pass which rules' keywords a text has: the automaton of Aho and Corasick, whose
// states are the beginnings of keywords. To look for each keyword by itself takes one pass for each, and
// there are hundreds.
type keywords struct {
	class   [256]uint8 // of a byte: 0 for all that no keyword has
	classes int
	next    []uint16 // the state after a state (times classes) and a class
	ends    [][]int  // of a state: the rules that have a keyword which ends there
	always  []int    // rules without keywords
	rules   int
}

// ruleKeywords are those of the rules, made when they are first needed.
var ruleKeywords = sync.OnceValue(func() *keywords {
	list := make([][]string, len(rules().Rules))
	for i := range list {
		list[i] = rules().Rules[i].Keywords
	}
	return newKeywords(list)
})

// newKeywords takes the keywords of each rule.
func newKeywords(list [][]string) *keywords {
	k := &keywords{classes: 1, ends: make([][]int, 1), rules: len(list)}
	for _, words := range list {
		for _, w := range words {
			for _, b := range []byte(w) {
				if k.class[b] == 0 {
					k.class[b] = uint8(k.classes)
					k.classes++
				}
			}
		}
	}
	k.next = make([]uint16, k.classes)
	for rule, words := range list {
		if len(words) == 0 {
			k.always = append(k.always, rule)
		}
		for _, w := range words {
			k.add(w, rule)
		}
	}
	k.link()
	return k
}

// add makes the states of a keyword. In a tree 0 is no next state: nothing leads back to the root.
func (k *keywords) add(word string, rule int) {
	at := 0
	for _, b := range []byte(word) {
		to := &k.next[at*k.classes+int(k.class[b])]
		if *to == 0 {
			*to = uint16(len(k.ends))
			k.ends = append(k.ends, nil)
			at = int(*to) // before next moves
			k.next = append(k.next, make([]uint16, k.classes)...)
			continue
		}
		at = int(*to)
	}
	k.ends[at] = append(k.ends[at], rule)
}

// link fills in where a text goes on that leaves a keyword: at the longest end of it that another begins
// with. States are taken by length, so that shorter ones are complete before.
func (k *keywords) link() {
	fall := make([]uint16, len(k.ends))
	queue := []uint16{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for c := range k.classes {
			to := &k.next[int(at)*k.classes+c]
			back := uint16(0)
			if at != 0 {
				back = k.next[int(fall[at])*k.classes+c]
			}
			if *to == 0 || c == 0 {
				*to = back
				continue
			}
			fall[*to] = back
			k.ends[*to] = append(k.ends[*to], k.ends[back]...)
			queue = append(queue, *to)
		}
	}
}

// in reports for each rule whether a text, in lower case, has one of its keywords, or it needs none.
func (k *keywords) in(lower string) []bool {
	has := make([]bool, k.rules)
	for _, rule := range k.always {
		has[rule] = true
	}
	at := 0
	for i := range len(lower) {
		at = int(k.next[at*k.classes+int(k.class[lower[i]])])
		for _, rule := range k.ends[at] {
			has[rule] = true
		}
	}
	return has
}
