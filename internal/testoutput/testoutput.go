// Package testoutput reads what check commands print: which tests failed, and the one line
// of it that a person wants to read first. It owns the formats of the usual test programs,
// and sees a stream as it comes, so that nothing has to be kept of it. It does not own how
// commands are run, nor what is kept of their output for agents: that is gate's.
package testoutput

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph/internal/text"
)

const (
	// maxNames are named of one run; with more the names are not known.
	maxNames = 200
	// longestName and longestHeadline are bytes.
	longestName     = 200
	longestHeadline = 300
	// longestLine is how much is read of a line. Longer ones are data.
	longestLine = 16 << 10
	// maxHeld bounds what a format remembers while a run goes on.
	maxHeld = 4 * maxNames
)

// Result is what a command's output says of a red run.
type Result struct {
	// Failed are the names of failed tests: sorted, each once, at most 200 of at most 200
	// bytes. A name that failed twice, as in two packages, is there as "name" and "name (2)".
	Failed []string
	// Complete reports that Failed are all that failed: the test program's own count agrees,
	// and it came to its end. Without it they must not be held against those of another run.
	Complete bool
	// Headline is the first failing test or error in one line, "" when nothing was printed.
	Headline string
}

// Reader takes the two streams of a command. Each is read by itself, so that it does not
// matter in which order pieces of one come between pieces of the other.
type Reader struct {
	roots       []string
	out, stderr *stream
}

// New returns a reader. roots are names of the folder in which the command runs: they are
// left out of names, which are the same in every worktree then.
func New(roots ...string) *Reader {
	return &Reader{roots: roots, out: newStream(), stderr: newStream()}
}

// Stdout and Stderr take what the command prints. They never fail.
func (r *Reader) Stdout() *Writer { return &Writer{r.out} }

// Stderr is Stdout for the other stream.
func (r *Reader) Stderr() *Writer { return &Writer{r.stderr} }

// Writer is one stream of a Reader.
type Writer struct{ s *stream }

// Write reads p, and keeps nothing of it but what it says.
func (w *Writer) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.write(p)
	return len(p), nil
}

// Result says what has been read, when the command has ended.
func (r *Reader) Result() Result {
	errs, outs := r.stderr.results(), r.out.results()
	all, sure, best := names{}, true, outcome{}
	for i := range errs {
		both := errs[i].with(outs[i])
		sure = sure && both.sure()
		for _, one := range both.names.sorted() {
			all.add(r.relative(one))
		}
		sure = sure && !both.names.over
	}
	for _, o := range slices.Concat(errs, outs) {
		if o.headline != "" && o.rank > best.rank {
			best = o
		}
	}
	failed := all.sorted()
	if len(failed) > maxNames {
		failed, sure = failed[:maxNames], false
	}
	return Result{Failed: failed, Complete: sure && len(failed) > 0, Headline: r.headline(best.headline)}
}

func (r *Reader) headline(s string) string {
	return cutTo(text.OneLine(r.relative(text.Plain(s))), longestHeadline, "...")
}

// relative leaves the folder of the run out of a text.
func (r *Reader) relative(s string) string {
	for _, root := range r.roots {
		if len(root) > 1 {
			s = strings.ReplaceAll(s, strings.TrimSuffix(root, "/")+"/", "")
		}
	}
	return s
}

// cutTo is at most n bytes of s, whole characters, with a sign behind them when some are
// missing.
func cutTo(s string, n int, sign string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	return text.Head(s, n-len(sign)) + sign
}

// names are names with how often each came.
type names struct {
	times map[string]int
	over  bool // there were more than are held
}

func (n *names) add(name string) {
	if key := n.key(name); key != "" {
		n.times[key]++
	}
}

// once is add for formats that may name a test several times. It reports whether the name
// is a new one.
func (n *names) once(name string) bool {
	key := n.key(name)
	if key == "" || n.times[key] > 0 {
		return false
	}
	n.times[key] = 1
	return true
}

// key makes room for a name, "" when there is none left.
func (n *names) key(name string) string {
	name = text.OneLine(name)
	if len(name) > longestName { // two long names stay two
		h := fnv.New32a()
		h.Write([]byte(name))
		name = cutTo(name, longestName, fmt.Sprintf("~%08x", h.Sum32()))
	}
	if _, ok := n.times[name]; ok || name == "" {
		return name
	}
	if len(n.times) >= maxHeld {
		n.over = true
		return ""
	}
	if n.times == nil {
		n.times = map[string]int{}
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}

func (n *names) sorted() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(n.times)) {
		list = append(list, name)
		for i := 2; i <= min(n.times[name], maxNames+1); i++ {
			list = append(list, cutTo(name, longestName-8, "")+fmt.Sprintf(" (%d)", i))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// outcome is what one format has read in one stream.
type outcome struct {
	names names
	// got is how much was read of what the program counts, and want what it says itself.
	got, want int
	// counts: the program always says a count, so that without one the run was cut.
	counts bool
	// counted: it did.
	counted bool
	// broken: names are missing for another reason.
	broken bool

	rank     int
	headline string
}

// with adds what the same format has read in the other stream: some programs write names
// into one and counts into the other.
func (o outcome) with(p outcome) outcome {
	times := maps.Clone(o.names.times)
	if times == nil {
		times = map[string]int{}
	}
	for _, name := range slices.Sorted(maps.Keys(p.names.times)) {
		times[name] += p.names.times[name]
	}
	return outcome{
		names: names{times, o.names.over || p.names.over}, got: o.got + p.got, want: o.want + p.want,
		counts: o.counts || p.counts, counted: o.counted || p.counted, broken: o.broken || p.broken,
	}
}

// sure reports whether the names are all.
func (o outcome) sure() bool {
	switch {
	case o.broken:
		return false
	case o.counted:
		return o.got == o.want
	}
	return !o.counts || o.got == 0
}

// The ranks of headlines: of the best the first is shown.
const (
	rankBuild     = 90 // a compiler, as what a test program calls
	rankTest      = 80 // a test that failed
	rankDoubt     = 70 // words about one, without its name
	rankTraceback = 60
	rankPlace     = 55 // file:line: what is wrong there
	rankError     = 50 // error: ...
	rankMissing   = 40 // cannot, not found, ...
	rankPackage   = 35 // a package that was not tested; the compiler says why elsewhere
	rankFailed    = 30
	rankStep      = 20 // make and npm say that they have nothing to run
	rankLast      = 10 // any last line
	rankNoise     = 1  // better than nothing
)

// format reads one way of writing about tests.
type format interface {
	line(s string) // without its end and its escape codes
	result() outcome
}

// stream splits into lines what comes in any pieces.
type stream struct {
	mu      sync.Mutex
	buf     []byte
	cut     bool // the line is longer than is read of it
	xml     *junit
	formats []format
}

func newStream() *stream {
	x := &junit{}
	return &stream{xml: x, formats: []format{
		x, newGoTest(), &tap{}, &nodeSpec{}, &pytest{}, &unittest{}, &jest{}, &vitest{}, &mocha{}, &cargo{}, &general{},
	}}
}

func (s *stream) write(p []byte) {
	for len(p) > 0 {
		i := slices.IndexFunc(p, func(c byte) bool { return c == '\n' || c == '\r' })
		piece := p
		if i >= 0 {
			piece = p[:i]
		}
		for len(piece) > 0 {
			take := min(len(piece), longestLine-len(s.buf))
			s.buf = append(s.buf, piece[:take]...)
			if piece = piece[take:]; len(piece) > 0 {
				s.flush()
				s.cut = true
			}
		}
		if i < 0 {
			return
		}
		s.flush()
		s.cut = false
		p = p[i+1:]
	}
}

// flush reads the line so far. Of a line that goes on only XML is read: whole reports
// are written as one.
func (s *stream) flush() {
	words := strings.TrimRight(text.Plain(string(s.buf)), " \t\n")
	s.buf = s.buf[:0]
	if s.xml.piece(words) || s.cut {
		return
	}
	for _, f := range s.formats {
		f.line(words)
	}
}

func (s *stream) results() []outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.buf) > 0 {
		s.flush()
	}
	var list []outcome
	for _, f := range s.formats {
		list = append(list, f.result())
	}
	return list
}

// named is a headline: a test, and why it failed.
func named(name, cause string) string {
	if cause == "" {
		return name
	}
	return name + ": " + cause
}

// further is a cause with the next line where it announces one: "Expected values to be
// equal:", then "2 !== 3". done reports whether there is no more to wait for.
func further(cause, line string) (text string, done bool) {
	line = strings.TrimSpace(line)
	switch {
	case line == "":
		return cause, false
	case cause == "":
		return line, !strings.HasSuffix(line, ":")
	}
	return cause + " " + line, true
}

// number reads the digits at the start of a text; -1 when there are none.
func number(s string) int {
	n, any := 0, false
	for _, c := range s {
		if c < '0' || c > '9' {
			break
		}
		if n, any = n*10+int(c-'0'), true; n > 1<<30 {
			return -1
		}
	}
	if !any {
		return -1
	}
	return n
}

// countOf is the number before a word in a line of counts, like "2 failed, 1 passed".
func countOf(line, word string) int {
	fields := strings.FieldsFunc(line, func(r rune) bool {
		return r == ' ' || r == ',' || r == '|' || r == '=' || r == '(' || r == ')' || r == ';'
	})
	for i, f := range fields {
		if i > 0 && f == word {
			return max(0, number(fields[i-1]))
		}
	}
	return 0
}
