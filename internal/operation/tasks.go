package operation

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// tasks are what a Makefile, a justfile or the scripts of a package.json have run, by name.
type tasks struct {
	run   map[string]string   // as text for the shell
	first map[string][]string // the names that come before one
	vars  map[string]string
}

// task looks into the work tree for what a runner is told to run by its name, and judges that;
// false: it is not there, or nobody can look, and the word is all there is to judge by. What
// tests, builds and the like run is the project's own: of them only what is certain counts.
func (k *analysis) task(name string, ws []word) bool {
	if k.ground.Read == nil || k.s.away || k.depth > maxDepth || len(k.s.dirs) != 1 {
		return false
	}
	valued := " -C -f --file -j --jobs -o --makefile --justfile --prefix --dir --cwd --directory -w --workspace --filter -F "
	options, operands := arguments0(ws, valued)
	dir, file := k.full(plain(".")), ""
	for i, o := range options {
		if o.holes() {
			return false
		}
		if i > 0 && slices.Contains([]string{"-C", "--prefix", "--dir", "--cwd", "--directory"}, options[i-1].text) {
			dir = k.full(o)
		}
		if i > 0 && slices.Contains([]string{"-f", "--file", "--makefile", "--justfile"}, options[i-1].text) {
			file = o.text
		}
	}
	names := operands
	if isNode(name) {
		if len(names) > 0 && slices.Contains([]string{"t", "tst"}, names[0].text) {
			names = []word{plain("test")}
		}
		if len(names) > 0 && slices.Contains([]string{"run", "run-script"}, names[0].text) {
			names = names[1:]
		}
		names = names[:min(len(names), 1)] // the others are for the script
	}
	list, ok := k.tasksIn(name, dir, file)
	if !ok || len(names) == 0 {
		return false
	}
	var texts []string
	for _, w := range names {
		if strings.Contains(w.text, "=") {
			continue
		}
		text, ok := list.all(w.text, 0)
		if !ok {
			return false
		}
		texts = append(texts, text)
	}
	risky := slices.ContainsFunc(names, func(w word) bool { return targetOf(name, w) != noSense })
	k.aside(func() {
		for _, key := range slices.Sorted(maps.Keys(list.vars)) {
			if _, set := k.s.vars[key]; !set {
				k.s.vars[key] = []word{plain(list.vars[key])}
			}
		}
		k.s.dirs = []string{dir}
		if !risky {
			k.quiet++
			defer func() { k.quiet-- }()
		}
		k.depth++
		for _, text := range texts {
			k.command(text, nil)
		}
		k.depth--
	})
	return true
}

func isNode(name string) bool {
	return slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, name)
}

// all is what a name runs with all that comes before it.
func (t tasks) all(name string, depth int) (string, bool) {
	text, ok := t.run[name]
	if !ok || depth > maxDepth {
		return "", false
	}
	var b strings.Builder
	for _, before := range t.first[name] {
		if more, ok := t.all(before, depth+1); ok && b.Len() < maxText {
			b.WriteString(more + "\n")
		}
	}
	return b.String() + text, true
}

// tasksIn reads the tasks of a folder of the work tree.
func (k *analysis) tasksIn(name, dir, file string) (tasks, bool) {
	names := []string{file}
	switch {
	case isNode(name):
		names = []string{"package.json"}
	case file != "":
	case name == "make" || name == "gmake":
		names = []string{"GNUmakefile", "makefile", "Makefile"}
	case name == "just":
		names = []string{"justfile", "Justfile", ".justfile"}
	default:
		return tasks{}, false
	}
	for _, n := range names {
		if n == "" || n == "-" {
			continue
		}
		full := n
		if !path.IsAbs(n) {
			full = path.Join(dir, n)
		}
		if _, own := k.s.files[full]; own {
			return tasks{}, false // see made
		}
		text, ok := k.ground.Read(full)
		switch {
		case !ok || len(text) > maxText:
		case isNode(name):
			return scripts(text)
		default:
			return rules(text), true
		}
	}
	return tasks{}, false
}

// scripts are those of a package.json.
func scripts(text string) (tasks, bool) {
	var pkg struct {
		Scripts map[string]string `json:"scripts"`
	}
	if err := json.Unmarshal([]byte(text), &pkg); err != nil {
		return tasks{}, false
	}
	t := tasks{run: map[string]string{}, first: map[string][]string{}}
	for _, name := range slices.Sorted(maps.Keys(pkg.Scripts)) {
		t.run[name] = pkg.Scripts[name]
		if after, ok := pkg.Scripts["post"+name]; ok {
			t.run[name] += "\n" + after
		}
		if _, ok := pkg.Scripts["pre"+name]; ok {
			t.first[name] = []string{"pre" + name}
		}
	}
	return t, true
}

var (
	ruleLine = lazyregexp.New(`^@?([\w./%-]+(?:[ \t]+[\w./%-]+)*)((?:[ \t]+[\w$*+]+=?\S*)*)[ \t]*::?([^=].*|)$`)
	makeSet  = lazyregexp.New(`^(?:export[ \t]+)?([\w.-]+)[ \t]*[:?+]?:?=[ \t]*(.*)$`)
	justPart = lazyregexp.New(`\{\{\s*(\w+)\s*\}\}`)
	makePart = lazyregexp.New(`\$\((\w+)\)`)
	makeCall = lazyregexp.New(`\$\([a-z]+ [^)]*\)`)
)

const recipeSigns = "@-+ \t" // before a line of a recipe

// rules are those of a Makefile or a justfile.
func rules(text string) tasks {
	t := tasks{run: map[string]string{}, first: map[string][]string{}, vars: map[string]string{"MAKE": "make"}}
	text = strings.ReplaceAll(text, "\\\n", " ")
	var current []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		recipe := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "  ")
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case recipe:
			for _, name := range current {
				t.run[name] += shellOf(strings.TrimLeft(line, recipeSigns)) + "\n"
			}
		case makeSet.MatchString(line):
			m := makeSet.FindStringSubmatch(line)
			if value := strings.Trim(strings.TrimSpace(m[2]), `"'`); !strings.Contains(value, "$") && len(t.vars) < maxWords {
				t.vars[m[1]] = value
			}
			current = nil
		case ruleLine.MatchString(line):
			m := ruleLine.FindStringSubmatch(line)
			before, inline, _ := strings.Cut(m[3], ";")
			current = strings.Fields(m[1])
			if len(current) > 1 && !strings.Contains(text, "\n\t") { // name parameter parameter:
				current = current[:1]
			}
			for _, name := range current {
				t.run[name] += shellOf(strings.TrimLeft(inline, recipeSigns)) + "\n"
				t.first[name] = append(t.first[name], strings.Fields(before)...)
			}
		default:
			current = nil
		}
	}
	return t
}

// shellOf is a line of a recipe as the shell gets it.
func shellOf(line string) string {
	line = makePart.ReplaceAllString(strings.ReplaceAll(line, "$$", "\x03"), "$${$1}")
	line = makeCall.ReplaceAllString(justPart.ReplaceAllString(line, "$${$1}"), "$${RALPH_MADE}")
	return strings.ReplaceAll(strings.NewReplacer("$@", "${RALPH_TARGET}", "$<", "${RALPH_TARGET}", "$^", "${RALPH_TARGET}", "$*", "${RALPH_TARGET}").Replace(line), "\x03", "$")
}
