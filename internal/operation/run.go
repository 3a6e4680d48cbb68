package operation

import (
	"maps"
	"slices"
	"strings"
)

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "rbash", "busybox-sh", "pwsh", "powershell", "cmd", "csh", "tcsh", "xonsh", "nu", "ksh93", "yash", "posh", "oksh"}, name)
}

// shell judges a shell: the command it is given, or what it reads.
func (k *analysis) shell(name string, ws []word, in *source) *source {
	run, stdin, script := false, false, 0
	for i := 1; i < len(ws) && script == 0; i++ {
		text := ws[i].text
		lower := strings.ToLower(text)
		windows := name == "pwsh" || name == "powershell"
		switch {
		case ws[i].any() && !run && k.isFile(ws, i):
			script = i
		case ws[i].any() && !run:
			k.unknown("what the shell runs is hidden in a variable or a substitution", ws)
			return nil
		case windows && strings.HasPrefix(lower, "-e") && !strings.HasPrefix(lower, "-ex"):
			k.unknown("what the shell runs is encoded", ws)
			return nil
		case name == "cmd" && strings.HasPrefix(text, "/") || windows && strings.HasPrefix(lower, "-c"):
			run = true
		case text == "--command":
			run = true
		case (text == "--rcfile" || text == "--init-file") && i+1 < len(ws):
			i++
			if src, ok := k.written(ws[i]); ok {
				k.runs(src, ws)
			}
		case slices.Contains([]string{"-o", "+o", "-O", "+O", "-ExecutionPolicy", "-executionpolicy"}, text):
			i++
		case text == "-" || text == "--":
			if i+1 < len(ws) {
				script = i + 1
			}
		case strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+"):
			if !strings.HasPrefix(text, "--") {
				run = run || strings.Contains(text, "c")
				stdin = stdin || strings.Contains(text, "s")
				if strings.HasSuffix(text, "o") {
					i++
				}
			}
		default:
			script = i
		}
	}
	switch {
	case run && script > 0:
		words := ws[script : script+1]
		if name == "cmd" || name == "pwsh" || name == "powershell" {
			words = slices.Clone(ws[script:])
			for i, w := range words {
				words[i].text = strings.ReplaceAll(w.text, `\`, "/")
			}
		}
		params, called := k.s.params, k.s.called
		zero := k.s.zero
		if k.s.params, k.s.called, k.s.zero = nil, true, nil; script+2 <= len(ws) {
			k.s.params, k.s.zero = ws[min(len(ws), script+2):], ws[script+1:min(len(ws), script+2)]
		}
		var out *source
		k.aside(func() { out = k.evaluate(words, ws, in) })
		k.s.params, k.s.called, k.s.zero = params, called, zero
		if name == "cmd" || name == "pwsh" || name == "powershell" {
			k.loose(joined(ws[script:]))
		}
		return out
	case stdin: // the words behind -s are arguments, and no script
		params, called := k.s.params, k.s.called
		if script > 0 {
			k.s.params, k.s.called = ws[script:], true
		}
		out := k.reads(in, ws)
		k.s.params, k.s.called = params, called
		return out
	case script > 0 && !slices.Contains([]string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}, ws[script].text):
		var out *source
		k.aside(func() { out = k.script(ws[script], ws[script:], in) })
		return out
	}
	return k.reads(in, ws)
}

// isFile reports whether a word with a part that nobody knows can only be the name of a file,
// and none that the command has written: what such a file holds is not looked at anyway.
func (k *analysis) isFile(ws []word, at int) bool {
	w := ws[at]
	if slices.ContainsFunc(slices.Sorted(maps.Keys(k.s.files)), func(name string) bool { return !strings.HasPrefix(name, "/dev/fd/") }) {
		return false
	}
	switch {
	case w.globs(), strings.HasPrefix(w.text, "-"), strings.HasPrefix(w.text, "/dev/"), strings.HasPrefix(w.text, "/proc/"):
		return false
	case strings.Contains(w.text, "/"):
		return true
	}
	return !w.many && at == len(ws)-1
}

// script judges a file that a shell runs: what people wrote is not looked at, what the
// command itself writes is.
func (k *analysis) script(file word, ws []word, in *source) *source {
	if file.text == "/dev/stdin" || file.text == "/dev/fd/0" {
		return k.reads(in, ws)
	}
	if src, ok := k.written(file); ok {
		return k.runs(src, ws)
	}
	switch {
	case file.holes() && k.isFile(ws, 0):
	case file.holes() && strings.HasSuffix(file.text, hole):
		k.unknown("what the shell runs is hidden in a variable or a substitution", ws)
	case strings.HasPrefix(file.text, "/dev/") || strings.HasPrefix(file.text, "/proc/"):
		k.unknown("nobody knows what the shell reads", ws)
	}
	return nil
}

// reads judges what a shell reads as its commands.
func (k *analysis) reads(in *source, ws []word) *source {
	if in == nil {
		in = k.s.in
	}
	switch {
	case in == nil: // nobody gives it anything
		return nil
	case in.file && !in.over:
		return nil // a script that people wrote
	case !in.known:
		k.loose(in.text)
		k.unknown("nobody knows what the shell reads", ws)
		return nil
	}
	return k.command(strings.TrimSpace(in.text), nil)
}

// evaluate looks at words that the shell takes for a command once more.
func (k *analysis) evaluate(words, ws []word, in *source) *source {
	if slices.ContainsFunc(words, func(w word) bool { return w.many }) {
		k.unknown("the command that is run is hidden in a variable or a substitution", ws)
		return nil
	}
	text := strings.Join(shown(words), " ")
	text = strings.ReplaceAll(text, live, "")
	if strings.TrimSpace(text) == "" || text == "-" {
		return nil
	}
	if strings.Contains(text, hole) {
		if len(strings.Trim(text, hole+" ;&|'\"")) == 0 || k.depth > maxDepth {
			k.unknown("the command that is run is hidden in a variable or a substitution", ws)
			return nil
		}
		return k.templated(text, in)
	}
	return k.command(strings.TrimPrefix(text, "-- "), in)
}

// templated judges a command with a part that nobody knows, as in bash -c "cd $DIR && make":
// taken for a variable, for that is what people mean by it. What may be a command's name, or a
// word of one that matters, is unknown then as it is anywhere.
func (k *analysis) templated(text string, in *source) *source {
	const name = "RALPH_HIDDEN"
	text = strings.ReplaceAll(text, hole, "${"+name+"}")
	before, had := k.s.vars[name]
	delete(k.s.vars, name)
	out := k.command(text, in)
	if had {
		k.s.vars[name] = before
	}
	return out
}

// wrappers are programs that run another one, with the letters of their options that take
// a value.
func wrappers() map[string]string {
	return map[string]string{
		"sudo": "ugpCDhrtTURc", "doas": "uC", "env": "uCSP", "nohup": "", "time": "fo", "timeout": "ks", "gtimeout": "ks", "nice": "n", "ionice": "cnpPu", "xargs": "IEeLlnPsda",
		"command": "", "exec": "a", "builtin": "", "stdbuf": "ioe", "setsid": "", "flock": "wE", "chroot": "", "watch": "nd", "strace": "eopsu", "unshare": "RSG",
		"caffeinate": "tw", "busybox": "", "toybox": "", "noglob": "", "nocorrect": "", "chrt": "TPD", "taskset": "", "setarch": "", "script": "cEIOBT", "parallel": "jaIS",
		"su": "csg", "runuser": "ucgs", "pkexec": "", "systemd-run": "pHMtu", "firejail": "", "bwrap": "", "proot": "rbw", "fakeroot": "", "entr": "", "then": "", "do": "",
		"start": "", "call": "", "dbus-run-session": "", "xvfb-run": "nsef", "unbuffer": "", "ltrace": "", "rlwrap": "", "torsocks": "", "proxychains": "f", "proxychains4": "f",
		"coproc": "", "arch": "", "nsenter": "tSG", "direnv": "", "mise": "", "dotenv": "", "nix-shell": "", "pipenv": "", "poetry": "", "uv": "", "bundle": "", "npx": "pc", "bunx": "",
		"-": "", "gsudo": "", "ssh-agent": "atPE", "with": "", "retry": "td", "chpst": "u", "setpriv": "", "capsh": "", "catchsegv": "", "valgrind": "", "perf": "", "hyperfine": "wrm", "chronic": "", "ts": "", "ifne": "", "cross-env": "", "dotenvx": "f", "dotenv-cli": "e",
		"concurrently": "nc", "run-s": "", "run-p": "", "doppler": "", "op": "", "aws-vault": "", "envdir": "", "pnpx": "", "hatch": "", "pdm": "", "rye": "", "conda": "np", "micromamba": "np", "nix": "", "devbox": "", "rtx": "", "asdf": "", "heroku-local": "", "foreman": "f",
	}
}

// wraps judges what a wrapper runs. Where its own words end is not always certain: then
// each place is a command's.
func (k *analysis) wraps(name string, ws []word, in *source) (*source, bool) {
	valued, ok := wrappers()[name]
	if !ok {
		return nil, false
	}
	if slices.Contains([]string{"su", "runuser", "script", "env", "watch", "parallel", "flock", "npx", "systemd-run", "nix-shell", "nix", "capsh", "hyperfine", "concurrently"}, name) {
		k.shellOption(name, ws)
	}
	if (name == "builtin" || name == "command") && len(ws) > 1 { // not the function of that name
		if f := k.funcs[ws[1].text]; f != nil {
			delete(k.funcs, ws[1].text)
			defer func() { k.funcs[ws[1].text] = f }()
		}
	}
	if in != nil && !in.file && becomesShell(name, ws) {
		return k.reads(in, ws), true
	}
	if name == "xargs" && !slices.ContainsFunc(ws[1:], func(w word) bool { return !strings.HasPrefix(w.text, "-") }) {
		return in, true // it prints what it reads
	}
	if name == "xargs" || name == "parallel" {
		for _, one := range k.fed(name, ws, in) {
			k.aside(func() { k.wrapped(name, valued, one, nil) })
		}
		return nil, true
	}
	return k.wrapped(name, valued, ws, in), true
}

// wrapped judges the command within the words of a wrapper.
func (k *analysis) wrapped(name, valued string, more []word, in *source) *source {
	var out *source
	maybe := false
	for i := 1; i < len(more); i++ {
		w := more[i]
		text := w.text
		before := more[i-1].text
		if k.dirOption(name, before, w) || name == "direnv" && before == "exec" {
			continue
		}
		if name == "env" && (text == "-i" || text == "-" || text == "--ignore-environment" || (before == "-u" || before == "--unset") && strings.HasPrefix(text, "GIT_") || strings.HasPrefix(text, "--unset=GIT_") || strings.HasPrefix(text, "-uGIT_")) {
			old := k.s.freed
			k.s.freed = true
			defer func() { k.s.freed = old }()
			if before == "-u" || before == "--unset" {
				continue
			}
		}
		switch {
		case strings.HasPrefix(text, "-") && !w.any() && text != "-":
			maybe = maybe || strings.HasPrefix(text, "--") && text != "--" && !strings.Contains(text, "=") || !strings.HasPrefix(text, "--") && len(text) > 1 && strings.ContainsAny(text[len(text)-1:], valued)
			continue
		case text != "" && text[0] >= '0' && text[0] <= '9' && strings.Trim(text, "0123456789.smhd:%") == "":
			continue
		case strings.Contains(text, "=") && !strings.ContainsAny(strings.SplitN(text, "=", 2)[0], "/"+hole):
			k.assignment(w)
			continue
		case name == "chroot" && i == 1:
			k.s.mounts["/"] = k.full(w)
			continue
		}
		if slices.Contains([]string{"poetry", "uv", "bundle", "pipenv", "direnv", "mise", "nix", "hatch", "pdm", "rye", "conda", "micromamba", "devbox", "doppler", "op", "aws-vault", "rtx", "asdf"}, name) && !slices.Contains([]string{"run", "exec", "x", "tool", "shell", "develop", "--", "tool run", "-c"}, text) && before == more[0].text {
			break // a command of its own
		}
		if name == "perf" && (text == "stat" || text == "record" || text == "trace") {
			continue
		}
		if slices.Contains([]string{"run", "exec", "x", "tool"}, text) && before == more[0].text && len(wrappers()[name]) < 3 && name != "sudo" && name != "env" {
			continue
		}
		sub := func() { out = k.program(more[i:], in) }
		if name == "env" || name == "sudo" {
			k.aside(sub)
		} else {
			sub()
		}
		if !maybe {
			break
		}
		maybe = strings.HasPrefix(before, "-") && i+1 < len(more)
		if !maybe {
			break
		}
		maybe = false
	}
	return out
}

// fed are the words of xargs or parallel with those that it reads, once for each line where
// something stands for that.
func (k *analysis) fed(name string, ws []word, in *source) [][]word {
	if in == nil {
		in = k.s.in
	}
	args, lines := []word{hidden()}, []word{hidden()}
	switch {
	case slices.ContainsFunc(ws, func(w word) bool { return w.text == "-a" || strings.HasPrefix(w.text, "--arg-file") }):
	case in != nil && len(in.names) > 0:
		args, lines = slices.Clone(in.names), in.names
	case in != nil && in.known:
		args, lines = nil, nil
		for line := range strings.Lines(in.text) {
			if line = strings.TrimRight(line, "\n"); line != "" {
				lines = append(lines, plain(line))
			}
		}
		split := strings.Fields(in.text)
		if given(ws[1:2], "-0 --null") {
			split = strings.FieldsFunc(in.text, func(r rune) bool { return r == 0 })
			lines = nil
			for _, f := range split {
				lines = append(lines, plain(f))
			}
		}
		for _, f := range split {
			args = append(args, plain(unquote(f)))
		}
	}
	for i, w := range ws {
		if w.text == ":::" || w.text == "::::" {
			args = nil
			for _, a := range ws[i+1:] {
				if a.text != ":::" {
					args = append(args, a)
				}
			}
			if w.text == "::::" {
				args = []word{hidden()}
			}
			lines = args
			ws = ws[:i]
			break
		}
	}
	if len(lines) > maxRounds {
		lines = append(lines[:maxRounds:maxRounds], hidden())
	}
	var marks []string
	if name == "parallel" {
		marks = []string{"{}", "{.}", "{/}", "{1}", "{2}"}
	}
	isMark := map[int]bool{}
	for i, w := range ws {
		if i == 0 || !strings.HasPrefix(w.text, "-I") && !strings.HasPrefix(w.text, "--replace") && w.text != "-i" {
			continue
		}
		mark := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(w.text, "-I"), "--replace"), "="), "-i")
		if w.text == "-I" && i+1 < len(ws) {
			mark = ws[i+1].text
			isMark[i+1] = true
		}
		if mark == "" {
			mark = "{}"
		}
		isMark[i] = true
		marks = append(marks, mark)
	}
	used := func(w word) string {
		for _, m := range marks {
			if m != "" && strings.Contains(w.text, m) {
				return m
			}
		}
		return ""
	}
	if len(marks) > 0 && slices.ContainsFunc(ws, func(w word) bool { return used(w) != "" }) && (name != "parallel" || slices.ContainsFunc(ws, func(w word) bool { return used(w) != "" })) {
		var out [][]word
		for _, line := range lines {
			one := slices.Clone(ws)
			for i, w := range one {
				if isMark[i] {
					continue
				}
				for m := used(one[i]); m != ""; m = "" {
					one[i] = word{strings.ReplaceAll(w.text, m, line.text), line.many && w.text == m}
				}
			}
			out = append(out, one)
		}
		return out
	}
	if len(marks) > 0 && name != "parallel" {
		return [][]word{ws}
	}
	return [][]word{append(slices.Clone(ws), args...)}
}

// unquote takes quotes away as xargs does.
func unquote(s string) string { return strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(s) }

// becomesShell reports whether a wrapper is a shell that reads its commands.
func becomesShell(name string, ws []word) bool {
	switch name {
	case "su", "runuser":
		return !option(ws, "c", "command")
	case "sudo", "doas":
		return slices.ContainsFunc(ws[1:], func(w word) bool {
			return slices.Contains([]string{"-i", "-s", "--login", "--shell", "-is", "-si"}, w.text)
		})
	case "parallel":
		return !slices.ContainsFunc(ws[1:], func(w word) bool { return !strings.HasPrefix(w.text, "-") })
	}
	return false
}

// dirOption notes the folder that a wrapper enters.
func (k *analysis) dirOption(name, before string, w word) bool {
	if name != "env" && name != "sudo" && name != "chroot" {
		return false
	}
	for _, option := range []string{"-C", "-D", "--chdir", "-R", "--chroot"} {
		if before == option {
			k.enter(w)
			return true
		}
		if dir, ok := strings.CutPrefix(w.text, option); ok && dir != "" {
			k.enter(word{strings.TrimPrefix(dir, "="), w.many})
		}
	}
	return false
}

// shellOption judges a command that stands in one word, as in su -c and env -S.
func (k *analysis) shellOption(name string, ws []word) {
	for i, w := range ws[1:] {
		for _, option := range []string{"-c", "-S", "--command", "--split-string", "--session-command", "--call", "--run"} {
			value, ok := strings.CutPrefix(w.text, option)
			switch {
			case !ok || option == "-S" && name != "env":
			case value == "" && i+2 < len(ws):
				k.evaluate(ws[i+2:i+3], ws, nil)
			case value != "":
				k.evaluate([]word{{strings.TrimPrefix(value, "="), w.many}}, ws, nil)
			}
		}
	}
	if slices.Contains([]string{"watch", "parallel", "flock", "hyperfine", "concurrently"}, name) {
		for _, w := range ws[1:] {
			if name != "flock" && strings.Contains(w.text, " ") && !strings.HasPrefix(w.text, "-") && !w.many {
				k.aside(func() { k.evaluate([]word{w}, ws, nil) })
				continue
			}
			k.certain(w)
		}
	}
}

// find judges what is found: all below a root or a home is the same as rm.
func (k *analysis) find(name string, ws []word) {
	if name == "fd" || name == "fdfind" {
		_, operands := arguments0(ws, " -e -E -t -d --type --extension --exclude ")
		roots := []word{plain(".")}
		if len(operands) > 1 {
			roots = operands[1:2]
		}
		for i, w := range ws {
			if slices.Contains([]string{"-x", "-X", "--exec", "--exec-batch"}, w.text) {
				k.onEach(append(slices.Clone(ws[i+1:]), plain("{}")), roots)
			}
		}
		return
	}
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
	old := k.narrow
	k.narrow = narrowed(tests)
	defer func() { k.narrow = old }()
	inside, acted := false, false
	for i, w := range tests {
		switch w.text {
		case "-delete":
			for _, r := range roots {
				k.touch(Delete, r, true, ws)
			}
			acted = true
		case "-exec", "-execdir", "-ok", "-okdir":
			k.onEach(tests[i+1:], roots)
			inside = true
		case ";", "+":
			inside = false
		case "-fprintf", "-fprint", "-fls", "-fprint0":
			if i+1 < len(tests) {
				k.overwrite(tests[i+1], ws, false)
			}
		}
		if w.any() && w.many && !inside && i > 0 && !strings.HasPrefix(tests[i-1].text, "-") && !acted {
			k.unsure(Delete, "what find does is hidden in a variable or a substitution", ws)
		}
	}
}

// narrowed reports whether only some of what is there is found, by its name or whose it is.
func narrowed(tests []word) bool {
	for i, w := range tests {
		if i+1 < len(tests) && slices.Contains([]string{"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-user", "-uid", "-samefile", "-inum", "-lname", "-newer", "-perm", "-group", "-mtime", "-mmin", "-atime", "-ctime"}, w.text) {
			value := tests[i+1].text
			if strings.Trim(value, "*?./"+live) != "" && (i == 0 || tests[i-1].text != "!" && tests[i-1].text != "-not") && !slices.ContainsFunc(tests, func(w word) bool { return w.text == "-o" || w.text == "-or" || w.text == "," }) {
				return !strings.Contains(value, "0") || !strings.HasSuffix(w.text, "time") && !strings.HasSuffix(w.text, "min")
			}
		}
	}
	return false
}

// onEach judges the command that find runs, on each of its roots.
func (k *analysis) onEach(ws, roots []word) {
	if i := slices.IndexFunc(ws, func(w word) bool { return w.text == ";" || w.text == "+" }); i >= 0 {
		ws = ws[:i]
	}
	if len(ws) == 0 {
		return
	}
	for _, r := range roots {
		if k.looks++; k.looks > maxLooks {
			k.unknown("the command is too long to be looked at", ws)
			return
		}
		own := slices.Clone(ws)
		each := word{text: strings.TrimSuffix(r.text, "/") + "/" + live + "*", many: r.many}
		if !strings.HasPrefix(r.text, "/") && !strings.HasPrefix(r.text, home) && !strings.HasPrefix(r.text, ".") && !r.holes() {
			each.text = "./" + each.text
		}
		for i, w := range own {
			own[i] = word{strings.ReplaceAll(w.text, "{}", each.text), w.many}
			if strings.Contains(w.text, "{}") && r.many {
				own[i].many = true
			}
		}
		head := own[0]
		for i, w := range own { // sudo rm
			if spec, ok := fileTools(base(w)); ok && !w.holes() {
				if _, isWrap := wrappers()[base(head)]; isWrap || i == 0 {
					for _, o := range own[i+1:] {
						if strings.HasPrefix(o.text, "-") {
							continue
						}
						k.touch(spec.verb, o, true, own)
					}
				}
				break
			}
		}
		k.aside(func() { k.program(own, nil) })
	}
}

func (k *analysis) cd(ws []word) {
	to := word{text: home}
	for _, w := range ws[1:] {
		if !strings.HasPrefix(w.text, "-") || w.text == "-" {
			to = w
			break
		}
	}
	if deploysTo(to) {
		k.s.prod = true
	}
	k.enter(to)
}

// enter notes the folder that the shell is in from now on.
func (k *analysis) enter(to word) {
	var dirs []string
	for _, dir := range k.s.dirs {
		p := to.text
		switch {
		case to.text == hole || to.many || to.globs() || p == "-" || strings.HasPrefix(p, hole):
			p = hole
		case strings.HasPrefix(p, home) || strings.HasPrefix(p, "/"):
		case to.holes() && dir == hole:
			p = hole
		case dir == hole:
			p = hole + "/" + p
		default:
			p = dir + "/" + p
		}
		if !slices.Contains(dirs, p) && len(dirs) < 64 && len(p) < maxText/8 {
			dirs = append(dirs, p)
		}
	}
	if len(dirs) == 0 {
		dirs = []string{hole}
	}
	k.s.dirs = dirs
}
