package operation

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "rbash", "busybox-sh", "pwsh", "powershell", "cmd", "csh", "tcsh", "xonsh", "nu"}, name)
}

// shell judges a shell: the command it is given, or what it reads.
func (k *look) shell(name string, ws []word, in *source) {
	run, stdin, script := false, false, 0
	for i := 1; i < len(ws) && script == 0; i++ {
		text := ws[i].text
		lower := strings.ToLower(text)
		switch {
		case ws[i].any():
			k.unknown("what the shell runs is hidden in a variable or a substitution", ws)
			return
		case (name == "pwsh" || name == "powershell") && strings.HasPrefix(lower, "-e") && !strings.HasPrefix(lower, "-ex"):
			k.unknown("what the shell runs is encoded", ws)
			return
		case name == "cmd" && strings.HasPrefix(text, "/") || (name == "pwsh" || name == "powershell") && strings.HasPrefix(lower, "-c"):
			run = true
		case text == "--command":
			run = true
		case slices.Contains([]string{"-o", "+o", "-O", "+O", "--rcfile", "--init-file", "-euo", "-eo", "-uo", "-xeuo", "-exuo", "-eux", "-euxo", "-exo", "-xo"}, text) && strings.Trim(text, "+-") != "eux":
			i++
		case text == "-" || text == "--":
			if i+1 < len(ws) {
				script = i + 1
			}
		case strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+"):
			if !strings.HasPrefix(text, "--") && strings.Contains(text, "c") {
				run = true
			}
			stdin = stdin || !strings.HasPrefix(text, "--") && strings.Contains(text, "s")
			if !strings.HasPrefix(text, "--") && strings.HasSuffix(text, "o") {
				i++
			}
		default:
			script = i
		}
	}
	switch {
	case run && script > 0:
		words := ws[script : script+1]
		if name == "cmd" || name == "pwsh" || name == "powershell" {
			words = ws[script:]
		}
		k.evaluate(words, ws)
		k.loose(joined(ws[script:]))
	case stdin: // the words behind -s are arguments, and no script
		k.reads(in, ws)
	case script > 0 && !slices.Contains([]string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}, ws[script].text):
		k.script(ws[script], ws)
	default:
		k.reads(in, ws)
	}
}

// script judges a file that a shell runs: what people wrote is not looked at, what the
// command itself writes is.
func (k *look) script(file word, ws []word) {
	switch text, wrote := k.files[path.Base(file.String())]; {
	case file.holes() && strings.HasSuffix(file.text, hole):
		k.unknown("what the shell runs is hidden in a variable or a substitution", ws)
	case wrote:
		k.ran(text, ws)
	case strings.HasPrefix(file.text, "/dev/") || strings.HasPrefix(file.text, "/proc/"):
		k.unknown("nobody knows what the shell reads", ws)
	}
}

// reads judges what a shell reads as its commands.
func (k *look) reads(in *source, ws []word) {
	switch {
	case in == nil && len(ws) > 1 && slices.ContainsFunc(ws, func(w word) bool { return w.text == "--version" || w.text == "--help" }):
	case in == nil || !in.known:
		if in != nil {
			k.loose(in.text)
		}
		k.unknown("nobody knows what the shell reads", ws)
	default:
		k.command(in.text)
	}
}

func (k *look) source(ws []word, in *source) {
	if len(ws) < 2 {
		return
	}
	if ws[1].text == "/dev/stdin" {
		k.reads(in, ws)
		return
	}
	k.script(ws[1], ws)
}

// wrappers are programs that run another one, with the letters of their options that take
// a value.
func wrappers() map[string]string {
	return map[string]string{
		"sudo": "ugpCDhrtTURc", "doas": "uC", "env": "uCSP", "nohup": "", "time": "fo", "timeout": "ks", "gtimeout": "ks", "nice": "n", "ionice": "cnpPu", "xargs": "IiEeLlnPsda",
		"command": "", "exec": "a", "builtin": "", "stdbuf": "ioe", "setsid": "", "flock": "wE", "chroot": "", "watch": "nd", "strace": "eopsu", "unshare": "RSG",
		"caffeinate": "tw", "busybox": "", "toybox": "", "noglob": "", "nocorrect": "", "chrt": "TPD", "taskset": "", "setarch": "", "script": "cEIOBT", "parallel": "jaIS",
		"su": "csg", "runuser": "ucgs", "pkexec": "", "systemd-run": "pHMtu", "firejail": "", "bwrap": "", "proot": "rbw", "fakeroot": "", "entr": "", "then": "", "do": "",
		"start": "", "call": "", "dbus-run-session": "", "xvfb-run": "nsef", "unbuffer": "", "ltrace": "", "rlwrap": "", "torsocks": "", "proxychains": "f", "proxychains4": "f",
		"coproc": "", "arch": "", "nsenter": "tSG", "direnv": "", "mise": "", "dotenv": "", "nix-shell": "", "pipenv": "", "poetry": "", "uv": "", "bundle": "", "npx": "pc", "bunx": "",
	}
}

// wraps judges what a wrapper runs. Where its own words end is not always certain: then
// each place is a command's.
func (k *look) wraps(name string, ws []word, in *source) {
	switch name {
	case "ssh", "docker", "podman", "kubectl", "oc", "nerdctl", "vagrant", "lxc", "machinectl", "wsl", "gcloud", "heroku", "fly":
		k.remote(name, ws, in)
		return
	case "fd", "fdfind":
		for i, w := range ws {
			if slices.Contains([]string{"-x", "-X", "--exec", "--exec-batch"}, w.text) {
				k.program(append(slices.Clone(ws[i+1:]), hidden()), nil)
			}
		}
		return
	}
	if k.wrappers == nil {
		k.wrappers = wrappers() // once for all words of a request
	}
	valued, ok := k.wrappers[name]
	if !ok {
		return
	}
	if name == "su" || name == "runuser" || name == "script" || name == "env" || name == "watch" || name == "parallel" || name == "flock" || name == "npx" {
		k.shellOption(ws)
	}
	if in != nil && !in.file && becomesShell(name, ws) {
		k.reads(in, ws)
	}
	more := ws
	if name == "xargs" || name == "parallel" {
		more = append(slices.Clone(ws), hidden())
		var marks []string // what stands for the words that it reads
		for i, w := range more {
			mark, ok := strings.CutPrefix(ws[max(1, i-1)%len(ws)].text, "-I")
			marks = append(marks, "{}")
			if ok && mark != "" {
				marks = append(marks, mark)
			} else if ok && i < len(ws) {
				marks = append(marks, w.text)
				continue
			}
			if slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(w.text, m) }) {
				more[i] = hidden()
			}
		}
	}
	maybe := false
	for i := 1; i < len(more); i++ {
		w := more[i]
		text := w.text
		before := more[i-1].text
		if k.dirOption(name, before, text) {
			continue
		}
		switch {
		case strings.HasPrefix(text, "-") && !w.any():
			maybe = maybe || strings.HasPrefix(text, "--") && text != "--" && !strings.Contains(text, "=") || !strings.HasPrefix(text, "--") && len(text) > 1 && strings.ContainsAny(text[1:], valued)
			continue
		case text != "" && text[0] >= '0' && text[0] <= '9' && strings.Trim(text, "0123456789.smhd:") == "":
			continue
		case strings.Contains(text, "=") && !strings.ContainsAny(strings.SplitN(text, "=", 2)[0], "/"+hole):
			k.assignment(w)
			continue
		}
		if name == "xargs" && i == len(more)-1 && i > 1 && !maybe {
			break
		}
		k.program(more[i:], in)
		if !maybe {
			break
		}
		maybe = strings.HasPrefix(before, "-") && i+1 < len(more)
		if !maybe {
			break
		}
		maybe = false
	}
}

// becomesShell reports whether a wrapper is a shell that reads its commands.
func becomesShell(name string, ws []word) bool {
	switch name {
	case "su", "runuser":
		return !option(ws, "c", "command")
	case "sudo", "doas":
		return slices.ContainsFunc(ws[1:], func(w word) bool {
			return slices.Contains([]string{"-i", "-s", "--login", "--shell", "-is", "-si"}, w.text)
		})
	}
	return false
}

// dirOption notes the folder that a wrapper enters.
func (k *look) dirOption(name, before, text string) bool {
	if name != "env" && name != "sudo" && name != "chroot" {
		return false
	}
	for _, option := range []string{"-C", "-D", "--chdir", "-R", "--chroot"} {
		if before == option {
			k.enter(plain(text))
			return true
		}
		if dir, ok := strings.CutPrefix(text, option); ok && dir != "" {
			k.enter(plain(strings.TrimPrefix(dir, "=")))
		}
	}
	return false
}

// shellOption judges a command that stands in one word, as in su -c and env -S.
func (k *look) shellOption(ws []word) {
	for i, w := range ws[1:] {
		for _, option := range []string{"-c", "-S", "--command", "--split-string", "--session-command", "--call"} {
			value, ok := strings.CutPrefix(w.text, option)
			switch {
			case !ok:
			case value == "" && i+2 < len(ws):
				k.evaluate(ws[i+2:i+3], ws)
			case value != "":
				k.evaluate([]word{{strings.TrimPrefix(value, "="), w.many}}, ws)
			}
		}
	}
	if slices.Contains([]string{"watch", "parallel", "flock"}, base(ws[0])) {
		for _, w := range ws[1:] {
			k.certain(w)
		}
	}
}

// remote judges what runs on another machine, or in a container: its shell reads the words
// once more.
func (k *look) remote(name string, ws []word, in *source) {
	if name != "ssh" && !slices.ContainsFunc(ws[1:], func(w word) bool { return w.text == "exec" || w.text == "run" || w.text == "ssh" || w.text == "shell" }) {
		if len(ws) > 1 && ws[1].any() {
			k.unknown("what it does is hidden in a variable or a substitution", ws)
		}
		return
	}
	if name == "ssh" && in != nil && !in.file {
		k.reads(in, ws)
	}
	for i := 2; i < len(ws); i++ {
		if ws[i].many {
			k.unknown("what runs there is hidden in a variable or a substitution", ws)
			return
		}
		if name == "ssh" && !strings.HasPrefix(ws[i].text, "-") && !strings.HasPrefix(ws[i-1].text, "-") {
			k.evaluate(ws[i:], ws)
			return
		}
		if strings.ContainsAny(ws[i].text, " \n") {
			k.certain(ws[i])
		}
		if len(base(ws[i])) > 0 && !hiddenName(ws[i]) && !strings.HasPrefix(ws[i].text, "-") {
			k.client(base(ws[i]), ws[i:], in)
			if name := base(ws[i]); isShell(name) || name == "eval" || name == "rm" || name == "git" && i > 2 {
				k.program(ws[i:], in)
				return
			}
		}
	}
}

// client judges programs that talk to a database.
func (k *look) client(name string, ws []word, in *source) {
	if !slices.Contains([]string{
		"psql", "mysql", "mariadb", "sqlite3", "sqlite", "sqlcmd", "mongosh", "mongo", "clickhouse-client", "clickhouse", "cockroach", "duckdb", "bq", "sqlplus", "tsql", "isql",
		"pgcli", "mycli", "litecli", "usql", "snowsql", "impala-shell", "beeline", "hive", "cqlsh", "influx", "spanner-cli", "mssql-cli",
	}, name) {
		return
	}
	for i, w := range ws[1:] {
		text := w.lower()
		command := i > 0 && slices.Contains([]string{"-c", "-e", "--command", "--execute", "-q", "-cmd", "--query", "--eval"}, ws[i].text)
		if w.many || w.holes() && (command || strings.ContainsAny(text, " ;") || strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") || w.any() && strings.HasPrefix(name, "sqlite") && i > 0) ||
			w.holes() && (strings.HasPrefix(text, "--command") || strings.HasPrefix(text, "--exec") || strings.HasPrefix(text, "--query") || strings.HasPrefix(text, "--eval")) {
			k.unknown("what the database is told is hidden in a variable or a substitution", ws)
			return
		}
	}
	if in == nil || in.file {
		return
	}
	if dropSQL(in.text) {
		k.never(dropDatabase, append(slices.Clone(ws), plain(plainSQL(in.text))))
	}
	if !in.known {
		k.unknown("nobody knows what the database is told", ws)
	}
	for _, p := range k.patterns {
		if p.re.MatchString(plainSQL(in.text)) {
			k.add(Found{Rule: p.text, Text: cut(joined(ws) + " " + plainSQL(in.text)), Words: texts(ws)})
		}
	}
}

var (
	interpreter = regexp.MustCompile(`^(python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|expect|osascript|rscript|r|awk|gawk|mawk|nawk|sed|gsed|jshell|groovy|julia|elixir|ghci|ex|vim|nvim|vi|ed)[0-9.]*$`)
	callsOut    = regexp.MustCompile("(?i)\\b(system|exec|execve|execvp|execfile|execfilesync|execsync|popen|spawn|spawnsync|subprocess|child_process|rmtree|rmsync|rimraf|shell_exec|passthru|os\\.execute|do shell script|eval|__import__|getattr|base64|fromcharcode|unlink|remove_dir|rm_rf|rm_r)\\b|`|\\bqx\\b|%x|\\|\\s*\"|\\|\\s*getline")
	sedRuns     = regexp.MustCompile(`(^|[\s;{}0-9$,/!])e(\s|$)|/[gpiIm0-9]*e[gpiIm0-9]*(\s|;|$)|(^|[\s'"])s(.).*e$`)
	editorRuns  = regexp.MustCompile(`!|system|term`)
)

// code judges what is given to an interpreter of another language. Its code is not parsed:
// what runs programs from there may run any.
func (k *look) code(name string, ws []word, in *source) {
	if !interpreter.MatchString(name) {
		return
	}
	text := joined(ws[1:])
	given := false
	for i, w := range ws[1:] {
		flag := i > 0 && regexpFlag(name, ws[i].text)
		switch {
		case strings.HasSuffix(name, "awk") || strings.HasSuffix(name, "sed"):
			given = true
		case flag || strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && len(w.text) > 3 && strings.ContainsAny(w.text, " (;"):
			given = true
			if w.holes() {
				k.unknown("the code that is run is hidden in a variable or a substitution", ws)
			}
		}
	}
	if in != nil && !in.file && !strings.HasSuffix(name, "awk") && !strings.HasSuffix(name, "sed") {
		if len(ws) == 1 || ws[1].text == "-" {
			text, given = in.text, true
			if !in.known {
				k.unknown("nobody knows what code it reads", ws)
			}
		}
	}
	if !given {
		return
	}
	k.loose(text)
	runs := callsOut.MatchString(text)
	switch {
	case strings.HasSuffix(name, "sed"):
		runs = slices.ContainsFunc(ws[1:], func(w word) bool { return sedRuns.MatchString(w.text) })
	case name == "vim" || name == "nvim" || name == "vi" || name == "ex" || name == "ed":
		runs = editorRuns.MatchString(text)
	}
	if runs {
		k.unknown("code that may run any command", ws)
	}
}

// regexpFlag reports whether an option of an interpreter is followed by code.
func regexpFlag(name, option string) bool {
	switch {
	case name == "php":
		return option == "-r" || option == "-B" || option == "-R"
	case option == "eval" && (name == "deno" || name == "bun"):
		return true
	case strings.HasPrefix(option, "--"):
		return option == "--eval" || option == "--print" || option == "--command"
	case name == "vim" || name == "nvim" || name == "vi" || name == "ex":
		return option == "-c"
	}
	return strings.HasPrefix(option, "-") && len(option) < 6 && strings.ContainsAny(option[1:], "cepE")
}
