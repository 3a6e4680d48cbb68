package operation

import (
	"slices"
	"strings"
)

// program looks at words as a command: first by what program it is, then by what no
// program of that form is harmless with. in is what it reads, nil when nobody gives it
// anything.
func (k *look) program(ws []word, in *source) {
	if len(ws) == 0 {
		return
	}
	head := ws[0]
	if hiddenName(head) {
		k.unknown("the name of the command is hidden in a variable, a substitution or a pattern", ws)
		return
	}
	name := base(head)
	if text, ok := k.files[name]; ok && len(ws) > 0 && name != "" {
		k.ran(text, ws)
	}
	switch {
	case isShell(name):
		k.shell(name, ws, in)
	case slices.Contains(removers(), name):
		k.remove(name, ws)
	case name == "git" || strings.HasPrefix(name, "git-"):
		k.git(name, ws)
	case name == "find" || name == "gfind":
		k.find(ws)
	case name == "format":
		if slices.ContainsFunc(ws[1:], func(w word) bool { return strings.HasPrefix(w.lower(), "c:") }) {
			k.never(formatDisk, ws)
		} else if slices.ContainsFunc(ws, word.holes) {
			k.unknown("what it formats is hidden in a variable or a substitution", ws)
		}
	case name == "format-volume" || name == "initialize-disk" || name == "clear-disk":
		k.never(formatDisk, ws)
	case name == "cd" || name == "pushd" || name == "chdir" || name == "set-location":
		k.cd(ws)
	case name == "eval":
		k.evaluate(ws[1:], ws)
	case name == "trap":
		if len(ws) > 1 {
			k.evaluate(ws[1:2], ws)
		}
	case name == "alias":
		for _, w := range ws[1:] {
			_, value, _ := strings.Cut(w.text, "=")
			k.evaluate([]word{{value, w.many}}, ws)
			k.program(append(fields(value), hidden()), nil) // whatever stands behind it later
		}
	case name == "source" || name == ".":
		k.source(ws, in)
	case name == "hash" && option(ws, "p", "") || name == "enable" && option(ws, "f", ""):
		k.unknown("it gives a program another name", ws)
	case name == "export" || name == "declare" || name == "typeset" || name == "readonly" || name == "local":
		for _, w := range ws[1:] {
			k.assignment(w)
		}
	}
	k.published(name, ws)
	k.runs(name, ws)
	k.wraps(name, ws, in)
	k.client(name, ws, in)
	k.code(name, ws, in)
	k.shapes(name, ws)
}

// hiddenName reports whether nobody knows which program runs.
func hiddenName(w word) bool {
	if w.many || w.globs() && w.text != live+"[" {
		return true
	}
	return strings.Contains(w.text[strings.LastIndexByte(w.text, '/')+1:], hole)
}

// ran looks at a file that the command wrote before it runs it.
func (k *look) ran(text string, ws []word) {
	if strings.Contains(text, hole) {
		k.unknown("it runs what it wrote itself", ws)
		return
	}
	k.command(text)
}

func removers() []string {
	return []string{"rm", "grm", "srm", "rimraf", "remove-item", "ri", "unlink"}
}

// remove judges rm and its kin (C-043).
func (k *look) remove(name string, ws []word) {
	deep := recursive(ws) || name == "rimraf"
	worst, options, many := harmless, 0, false
	end := false
	for _, w := range ws[1:] {
		many = many || w.many
		if w.any() {
			options++
		}
		if !end && w.text == "--" {
			end = true
			continue
		}
		if !end && strings.HasPrefix(w.text, "-") {
			continue
		}
		worst = max(worst, k.target(w))
	}
	switch {
	case deep && worst == wholeRoot:
		k.never(rmRoot, ws)
	case deep && worst == wholeHome:
		k.never(rmHome, ws)
	case deep && (worst == unsure || many), many, options > 1, options == 1 && worst > unsure:
		k.unknown("what it removes is hidden, or may be everything", ws)
	}
}

// find judges what is found: all below a root or a home is the same as rm.
func (k *look) find(ws []word) {
	at := 1
	for at < len(ws) && (slices.Contains([]string{"-H", "-L", "-P"}, ws[at].text) || strings.HasPrefix(ws[at].text, "-O")) {
		at++
	}
	if at+1 < len(ws) && ws[at].text == "-D" {
		at += 2
	}
	var roots []word
	for ; at < len(ws) && !strings.HasPrefix(ws[at].text, "-") && !slices.Contains([]string{"(", ")", "!", ","}, ws[at].text); at++ {
		roots = append(roots, ws[at])
	}
	if len(roots) == 0 {
		roots = []word{plain(".")}
	}
	tests := ws[at:]
	for i, w := range tests {
		switch w.text {
		case "-delete":
			k.remove("rm", append([]word{plain("rm"), plain("-r")}, roots...))
		case "-exec", "-execdir", "-ok", "-okdir":
			k.onEach(tests[i+1:], roots)
		}
		if w.any() && k.quiet == 0 {
			k.unknown("what find does is hidden in a variable or a substitution", ws)
		}
	}
}

// onEach judges the command that find runs, on each of its roots.
func (k *look) onEach(ws, roots []word) {
	if i := slices.IndexFunc(ws, func(w word) bool { return w.text == ";" || w.text == "+" }); i >= 0 {
		ws = ws[:i]
	}
	for _, r := range roots {
		if k.looks++; k.looks > mostLooks {
			k.unknown("the command is too long to be looked at", ws)
			return
		}
		own := slices.Clone(ws)
		for i, w := range own {
			own[i].text = strings.ReplaceAll(w.text, "{}", r.text)
			own[i].many = w.many || strings.Contains(w.text, "{}") && r.many
		}
		switch at := slices.IndexFunc(own, func(w word) bool { return slices.Contains(removers(), base(w)) }); {
		case len(own) == 0:
		case isShell(base(own[0])):
			if k.target(r) > unsure {
				k.unknown("nobody knows what the shell does with all that find finds", ws)
			}
		case at >= 0: // one by one it goes as far as rm -r does
			k.program(slices.Insert(own, at+1, plain("-r")), nil)
		default:
			k.program(own, nil)
		}
	}
	if len(ws) > 0 && isShell(base(ws[0])) {
		k.program(ws, nil)
	}
}

func (k *look) cd(ws []word) {
	to := word{text: home}
	for _, w := range ws[1:] {
		if !strings.HasPrefix(w.text, "-") || w.text == "-" {
			to = w
			break
		}
	}
	k.enter(to)
}

// evaluate looks at words that the shell takes for a command once more.
func (k *look) evaluate(words, ws []word) {
	if slices.ContainsFunc(words, func(w word) bool { return w.holes() || w.globs() }) {
		k.unknown("the command that is run is hidden in a variable or a substitution", ws)
		return
	}
	if text := joined(words); strings.TrimSpace(text) != "" && text != "-" {
		k.command(strings.TrimPrefix(text, "-- "))
	}
}

// published judges the programs that publish packages; npm takes its commands cut short.
func (k *look) published(name string, ws []word) {
	publishers := []string{"npm", "npm-cli.js", "pnpm", "yarn", "yarnpkg", "bun", "bunx", "npx", "cnpm", "tnpm", "pnpx", "lerna", "changeset", "npm.js", "yarn.js", "pnpm.cjs"}
	if !slices.Contains(publishers, name) || len(ws) < 2 {
		return
	}
	if slices.Contains([]string{"help", "search", "view", "info", "show", "docs", "install", "i", "add", "ls", "list", "test", "explain", "outdated"}, ws[1].text) && !strings.HasPrefix(name, "npx") {
		return
	}
	for _, w := range ws[1:] {
		if text := w.lower(); strings.HasPrefix(text, "pu") && shortened(text, "publish") {
			k.never(npmPublish, ws)
			return
		}
	}
	if slices.ContainsFunc(ws[1:], word.any) {
		k.unknown("what it does is hidden in a variable or a substitution", ws)
	}
}

// runs judges programs that run something by a name of the project.
func (k *look) runs(name string, ws []word) {
	switch name {
	case "make", "gmake", "just", "task", "rake", "gulp", "grunt", "nx", "turbo", "deno", "mage", "invoke", "fab", "cap":
		if slices.ContainsFunc(ws[1:], word.any) {
			k.unknown("what it does is hidden in a variable or a substitution", ws)
		}
	}
}

// shapes are forms that no program is harmless with, also one that got another name.
func (k *look) shapes(name string, ws []word) {
	if slices.Contains([]string{"ls", "cp", "chmod", "chown", "tar", "du", "diff", "rsync", "scp", "zip", "sed", "ln", "cat", "tree", "touch", "chgrp", "chcon", "setfacl", "tail", "sort"}, name) {
		return
	}
	rf := slices.ContainsFunc(ws[1:], func(w word) bool {
		t := w.lower()
		return strings.HasPrefix(t, "-") && !strings.HasPrefix(t, "--") && len(t) < 7 && strings.Contains(t, "r") && strings.Contains(t, "f")
	})
	for _, w := range ws[1:] {
		if !rf || strings.HasPrefix(w.text, "-") || w.holes() {
			continue
		}
		switch k.target(w) {
		case wholeRoot:
			k.never(rmRoot, ws)
		case wholeHome:
			k.never(rmHome, ws)
		}
	}
	if i := slices.IndexFunc(ws, func(w word) bool { return w.lower() == "push" }); i >= 0 && name != "git" && i > 0 && forces(ws) {
		k.never(pushForce, ws)
	}
	if name == "dropdb" || name == "mysqladmin" && slices.ContainsFunc(ws, func(w word) bool { return w.lower() == "drop" }) || dropSQL(joined(ws)) {
		k.never(dropDatabase, ws)
	}
	if (name == "gh" || name == "curl") && strings.Contains(joined(ws), "git/refs") && strings.Contains(strings.NewReplacer(`"`, "", ":", "=", " ", "").Replace(joined(ws)), "force=true") {
		k.never(pushForce, ws)
	}
}
