package operation

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// base is the name of the program that a word names, as it is known: without its folder,
// without .exe, without a version behind @.
func base(w word) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(strings.TrimPrefix(w.String(), "="), `\`, "/")))
	if scope, rest, ok := strings.Cut(w.text, "/"); ok && strings.HasPrefix(scope, "@") && len(scope) > 1 && strings.HasPrefix(rest, "cli") {
		return strings.ToLower(scope[1:]) // npx @railway/cli
	}
	if name != "@" {
		name, _, _ = strings.Cut(name, "@")
	}
	for _, end := range []string{".exe", ".cmd", ".bat", ".com", ".ps1"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// simple looks at one simple command: its words, the variables before it, the files behind
// its redirections, and what it reads. It returns what the command says.
func (k *analysis) simple(ws, set, targets []word, in *source) *source {
	if len(ws) == 0 {
		k.match(set, targets)
		return &source{known: true}
	}
	if len(ws) > maxWords {
		k.unknown("the command has too many words", ws[:20])
		return nil
	}
	if k.steps++; k.steps > maxSteps {
		k.unknown("the command is too long to be looked at", ws[:1])
		return nil
	}
	k.index(ws)
	said := k.says(ws, in)
	if isShell(base(ws[0])) && slices.ContainsFunc(targets, func(w word) bool {
		return strings.HasPrefix(w.text, "/dev/tcp/") || strings.HasPrefix(w.text, "/dev/udp/")
	}) {
		k.unknown("a shell for somebody elsewhere", ws)
	}
	shown, only := talk(ws)
	if k.renamed(ws[0]) {
		shown, only, said = ws, false, nil
	}
	if only {
		k.match(slices.Concat(set, shown), targets)
		k.builtin(base(ws[0]), ws, in)
		return said
	}
	before := k.outside
	out := k.program(shown, in)
	k.deploy(base(ws[0]), shown, set, in)
	k.matchAfter(set, shown, targets, before)
	if said != nil {
		return said
	}
	if out == nil {
		out = &source{}
	}
	return out
}

// renamed reports whether a name is a function's or an alias's that the command has made.
func (k *analysis) renamed(w word) bool {
	_, alias := k.s.alias[w.text]
	return alias || k.funcs[w.text] != nil
}

// program looks at words as a command. in is what it reads, nil when nobody gives it
// anything.
func (k *analysis) program(ws []word, in *source) *source {
	if len(ws) == 0 {
		return nil
	}
	if k.steps++; k.steps > maxSteps {
		k.unknown("the command is too long to be looked at", ws[:1])
		return nil
	}
	head := ws[0]
	if hiddenName(head) {
		k.anyProgram(ws)
		return nil
	}
	name := base(head)
	if f, ok := k.funcs[head.text]; ok {
		return k.function(f, ws, in)
	}
	if text, ok := k.s.alias[head.text]; ok && k.depth < maxDepth {
		delete(k.s.alias, head.text)
		out := k.command(text+quotedRest(ws[1:]), in)
		k.s.alias[head.text] = text
		return out
	}
	if src, ok := k.written(head); ok && name != "" && (strings.Contains(head.text, "/") || !isKnown(name)) {
		return k.runs(src, ws)
	}
	switch {
	case isShell(name):
		return k.shell(name, ws, in)
	case name == "git" || strings.HasPrefix(name, "git-") && len(name) > 4:
		k.git(name, ws, in)
	case name == "find" || name == "gfind" || name == "fd" || name == "fdfind":
		k.find(name, ws)
	case name == "rustup" && len(ws) > 3 && ws[1].text == "run":
		return k.program(ws[3:], in)
	case name == "pipx" && len(ws) > 2 && ws[1].text == "run":
		return k.program(ws[2:], in)
	case interpreter.MatchString(name):
		k.code(name, ws, in)
	case k.builtin(name, ws, in), k.fileTool(name, ws, in), k.disk(name, ws), k.client(name, ws, in), k.forge(name, ws, in):
	case k.remote(name, ws, in):
	default:
		if len(k.s.files) > 0 {
			k.compiled(name, ws, nil)
		}
		if out, ok := k.wraps(name, ws, in); ok {
			if slices.Contains(strings.Fields("bundle poetry hatch pdm uv rye pipenv conda micromamba nix devbox mise asdf doppler op foreman"), name) && (len(ws) < 2 || !slices.Contains([]string{"exec", "run", "x", "tool"}, ws[1].text)) { // that have words of their own
				k.published(name, ws)
			}
			return out
		}
		k.fetched(name, ws, in)
		k.made(name, ws, in)
		if len(k.s.files) == 0 {
			k.compiled(name, ws, in)
		}
		if !isLocal(name, ws) {
			if in != nil && in.text != "" && dropSQL(in.text) {
				k.never(dropDatabase, ws)
			}
			published := k.published(name, ws)
			k.migrates(name, ws)
			if !published {
				k.anywhere(ws)
			}
		} else {
			k.task(name, ws)
		}
	}
	k.escapes(name, ws, in)
	k.takes(name, ws, in)
	k.machine(name, ws)
	k.shapes(name, ws)
	return nil
}

// hiddenName reports whether nobody knows which program runs.
func hiddenName(w word) bool {
	if last := w.text[strings.LastIndexByte(w.text, '/')+1:]; last != "" && last != w.text && !strings.ContainsAny(last, hole+live) {
		return false // a program in a folder that nobody knows
	}
	if w.many || w.globs() && w.text != live+"[" {
		return true
	}
	return strings.Contains(w.text[strings.LastIndexByte(w.text, '/')+1:], hole)
}

// anyProgram judges a command whose name nobody knows: it is held where one of the programs
// that matter would be with such words.
func (k *analysis) anyProgram(ws []word) {
	const why = "the name of the command is hidden in a variable, a substitution or a pattern"
	head, outer := ws[0], k.outer
	k.outer = false
	switch {
	case head.globs() && !head.holes():
		last := head.text[strings.LastIndexByte(head.text, '/')+1:]
		for _, name := range slices.Sorted(maps.Keys(riskyNames())) {
			if matches(last, name) {
				k.unknown(why, ws)
				return
			}
		}
		return
	case outer && (len(ws) > 1 || strings.HasPrefix(head.text, "./")) && !head.globs(): // a person's own variable: it says with what, and not more
	case len(ws) == 1 && (head.many || head.globs()) || len(ws) > 1 && ws[1].many || strings.Trim(head.text, hole+"/") != "" && head.many:
		k.unknown(why, ws)
		return
	}
	if k.quiet > 0 || len(ws) == 1 {
		return
	}
	try := newLook(nil, "", k.ground)
	for _, name := range []string{"git", "rm", "npm", "kubectl", "psql", "dd", "find", "mv", "eval", "python3", "terraform", "gh", "sh"} {
		try.s = k.s.clone()
		try.home, try.work = k.home, k.work
		try.depth = k.depth + 1
		try.program(append([]word{plain(name)}, ws[1:]...), nil)
		if slices.ContainsFunc(try.found, func(f Found) bool { return f.Never || !outer }) {
			k.unknown(why, ws)
			return
		}
	}
}

// function runs a function that the command has defined.
func (k *analysis) function(f *function, ws []word, in *source) *source {
	if f.depth > 1 || k.depth > maxDepth {
		return nil
	}
	f.depth++
	k.depth++
	params, called := k.s.params, k.s.called
	k.s.params, k.s.called = ws[1:], true
	out := k.stmt(f.body, in, false)
	k.s.params, k.s.called = params, called
	k.depth--
	f.depth--
	return out
}

// runs looks at a file that the command wrote before it runs it.
func (k *analysis) runs(src *source, ws []word) *source {
	switch {
	case src.file:
		return nil
	case !src.known && src.text == "", src.over:
		k.unknown("it runs what it wrote itself, and nobody knows what that is", ws)
		return nil
	case !src.known:
		k.loose(src.text)
		k.unknown("it runs what it wrote itself", ws)
		return nil
	}
	return k.runText(src, ws)
}

// runText judges a script by the program that its first line names.
func (k *analysis) runText(src *source, ws []word) *source {
	if !src.known {
		k.unknown("it runs what it wrote itself", ws)
		return nil
	}
	if first, _, _ := strings.Cut(src.text, "\n"); strings.HasPrefix(first, "#!") {
		fs := strings.FieldsFunc(first[2:], func(r rune) bool { return r == '/' || r == ' ' || r == '\t' || r == '\r' })
		for _, f := range slices.Backward(fs) {
			if isShell(f) {
				break
			}
			if interpreter.MatchString(f) {
				k.program1(f, src.text, ws)
				return nil
			}
		}
	}
	params, called := k.s.params, k.s.called
	if len(ws) > 0 {
		k.s.params, k.s.called = ws[1:], true
	}
	out := k.command(src.text, nil)
	k.s.params, k.s.called = params, called
	return out
}

// builtin judges what the shell does itself.
func (k *analysis) builtin(name string, ws []word, in *source) bool {
	switch name {
	case "cd", "pushd", "chdir", "set-location":
		k.cd(ws)
	case "popd":
		k.s.in1(hole)
	case "eval":
		k.evaluate(ws[1:], ws, in)
	case "trap":
		if len(ws) > 3 && ws[1].text == "--" {
			ws = ws[1:]
		}
		if len(ws) > 2 {
			k.maybe(func() { k.evaluate(ws[1:2], ws, nil) })
		}
	case "alias":
		for _, w := range ws[1:] {
			if key, value, ok := strings.Cut(w.text, "="); ok {
				if strings.Contains(value, hole) {
					k.unknown("an alias is hidden in a variable or a substitution", ws)
					continue
				}
				k.s.alias[key] = word{text: value}.String()
				k.quiet++
				k.aside(func() { k.command(word{text: value}.String(), nil) })
				k.quiet--
			}
		}
	case "source", ".":
		if len(ws) > 1 {
			k.script(ws[1], ws, in)
		}
	case "hash", "enable":
		if name == "hash" && option(ws, "p", "") || name == "enable" && option(ws, "f", "") {
			k.unknown("it gives a program another name", ws)
		}
	case "export", "declare", "typeset", "readonly", "local":
		for _, w := range ws[1:] {
			k.assignment(w)
		}
	case "set":
		if len(ws) > 1 && strings.HasPrefix(ws[1].text, "-") && strings.Contains(ws[1].text, "e") && ws[1].text != "--" {
			k.s.strict = true
		}
		if i := slices.IndexFunc(ws, func(w word) bool { return w.text == "--" }); i > 0 {
			k.s.params, k.s.called = ws[i+1:], true
		} else if len(ws) > 1 && !strings.HasPrefix(ws[1].text, "-") && !strings.HasPrefix(ws[1].text, "+") {
			k.s.params, k.s.called = ws[1:], true
		}
	case "shift":
		if k.s.called && len(k.s.params) > 0 {
			k.s.params = k.s.params[1:]
		}
	case "unset":
		for _, w := range ws[1:] {
			if w.text == "HOME" || strings.HasPrefix(w.text, "GIT_CONFIG") {
				k.s.homed = k.s.homed || w.text == "HOME"
				k.s.freed = k.s.freed || w.text != "HOME"
			}
			if !strings.HasPrefix(w.text, "-") {
				k.s.vars[w.text] = []word{{}}
			}
		}
	case "read", "mapfile", "readarray":
		k.read(name, ws, in)
	case "printf":
		if len(ws) > 3 && ws[1].text == "-v" {
			v := word{text: hole}
			if src := k.says(append([]word{plain("printf")}, ws[3:]...), nil); src != nil && src.known {
				v = plain(src.text)
			}
			k.set(ws[2].text, v)
		}
	case "let", "test", "[", "true", "false", ":", "return", "exit", "break", "continue", "wait", "jobs", "umask", "ulimit", "getopts", "shopt", "type", "times", "bg", "fg", "disown", "dirs", "history", "bind", "complete", "compgen", "caller", "kill":
	case "mapfile -c":
	default:
		return false
	}
	if (name == "mapfile" || name == "readarray") && option(ws, "c", "") {
		for i, w := range ws {
			if w.text == "-C" && i+1 < len(ws) {
				k.evaluate(append(slices.Clone(ws[i+1:i+2]), plain("0")), ws, nil)
			}
		}
	}
	return true
}

// read gives variables what is read: the name of a file, as far as that is known.
func (k *analysis) read(name string, ws []word, in *source) {
	if in == nil {
		in = k.s.in
	}
	value := word{text: hole}
	if in != nil && len(in.names) > 0 {
		value = in.names[0]
		value.many = false
	} else if in != nil && in.known && name == "read" && strings.Count(strings.TrimRight(in.text, "\n"), "\n") == 0 {
		value = plain(strings.TrimSpace(in.text))
	}
	n := 0
	for i, w := range ws[1:] {
		if strings.HasPrefix(w.text, "-") || i > 0 && slices.Contains([]string{"-d", "-p", "-n", "-N", "-t", "-u", "-i", "-C", "-c", "-O", "-s"}, ws[i].text) && ws[i].text != "-s" {
			continue
		}
		n++
		if name != "read" || slices.ContainsFunc(ws, func(w word) bool { return strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "a") }) {
			k.s.lists[w.text] = []word{{value.text, true}}
			if in != nil && len(in.names) > 0 {
				k.s.lists[w.text] = slices.Clone(in.names)
			}
			continue
		}
		k.set(w.text, value)
	}
	if n == 0 {
		k.set("REPLY", value)
		k.s.lists["MAPFILE"] = []word{{value.text, true}}
	}
}

// anywhere looks for what is certain in any word on: of a program that is not known, each
// argument may be a command.
func (k *analysis) anywhere(ws []word) {
	for i := 1; i < len(ws); i++ {
		if k.quiet > 2 || k.steps > maxSteps/2 {
			return
		}
		if isShell(base(ws[i])) && slices.ContainsFunc(ws[i:], func(w word) bool { return strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "c") }) {
			k.aside(func() { k.program(ws[i:], nil) })
			continue
		}
		if isRisky(base(ws[i])) && !hiddenName(ws[i]) {
			k.quiet++
			k.aside(func() { k.program(ws[i:], nil) })
			k.quiet--
		}
		k.certain(ws[i])
		if _, value, ok := strings.Cut(ws[i].text, "="); ok {
			k.certain(word{value, ws[i].many})
		}
	}
}

// builtins of settings are patterns about words that names of files and tests often have.
func loosePattern(text string) bool {
	return slices.Contains([]string{"deploy", "migrate", "publish", "production", "secret", "password", "api.*key"}, text)
}

func isSecret(text string) bool {
	return slices.Contains([]string{"secret", "password", "api.*key"}, text)
}

// shows reports whether a program prints what is in a file.
func shows(name string) bool {
	return slices.Contains([]string{"cat", "bat", "less", "more", "head", "tail", "vim", "vi", "nano", "code", "xxd", "hexdump", "od", "strings", "base64", "jq", "yq", "open", "xdg-open", "diff", "source", ".", "env", "printenv", "export"}, name)
}

// match holds the patterns against the text of a simple command.
func (k *analysis) match(ws, targets []word) { k.matchAfter(nil, ws, targets, k.outside) }

// matchAfter does so when it is known what the command does: rm -rf is about folders outside
// of the work tree and of temporary ones, and words in names of files and tests are none.
func (k *analysis) matchAfter(set, ws, targets []word, before int) {
	all := slices.Concat(set, ws, targets)
	if len(all) == 0 || k.quiet > 0 || len(k.patterns) == 0 {
		return
	}
	text := joined(all)
	said := []string{text, plainSQL(text)}
	for i := range ws {
		if base(ws[i]) == "git" && slices.ContainsFunc(ws[i:], func(w word) bool { return w.text == "push" }) && forces(ws[i:]) {
			said = append(said, "git push --force")
		}
	}
	if slices.ContainsFunc(ws, func(w word) bool { return truncates.MatchString(w.text) }) {
		said = append(said, "drop table")
	}
	name := ""
	if len(ws) > 0 {
		name = base(ws[0])
	}
	tests := len(ws) > 1 && (local(ws) || k.forTests()) && !slices.ContainsFunc(ws[1:], deploysTo) && !strings.Contains(text, "rm ")
	local := name != "" && (isLocal(name, ws) || dryRun(ws) || tests || len(ws) > 1 && name != "rm" && readsOnly(name, ws))
	for _, p := range k.patterns {
		switch {
		case p.text == "rm -rf":
			if k.outside > before {
				k.add(Found{Rule: p.text, Text: cut(text), Words: texts(slices.Concat(set, ws))})
			}
		case local && (loosePattern(p.text) || p.text == "push --force" || p.text == "npm publish") && !(shows(name) && isSecret(p.text)):
		case slices.ContainsFunc(said, p.re.MatchString):
			k.add(Found{Rule: p.text, Text: cut(text), Words: texts(slices.Concat(set, ws))})
		}
	}
}

// option reports whether a command has an option, by its letter or its word, which may be
// cut short as GNU programs let it be.
func option(ws []word, letter, long string) bool {
	for _, w := range ws[1:] {
		text := w.lower()
		switch {
		case text == "--":
			return false
		case strings.HasPrefix(text, "--"):
			if name, _, _ := strings.Cut(text[2:], "="); shortened(name, long) {
				return true
			}
		case strings.HasPrefix(text, "-") && letter != "" && strings.Contains(text, letter):
			return true
		}
	}
	return false
}

// shortened reports whether text is the beginning of a word, which programs take for it.
func shortened(text, whole string) bool { return text != "" && strings.HasPrefix(whole, text) }

func quotedRest(rest []word) string {
	out := ""
	for _, w := range rest {
		if w.holes() {
			out += ` "$_"`
			continue
		}
		if strings.HasPrefix(w.text, home) {
			out += " ~" + strings.TrimPrefix(w.text, home)
			continue
		}
		out += " '" + strings.ReplaceAll(w.String(), "'", `'\''`) + "'"
	}
	return out
}
