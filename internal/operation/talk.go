package operation

import (
	"path"
	"slices"
	"strings"
)

// talk returns a command without the words that are only text: what is said in a message,
// searched for or printed is no operation. It reports whether nothing else is left.
func talk(ws []word) ([]word, bool) {
	if hiddenName(ws[0]) {
		return ws, false
	}
	name := base(ws[0])
	switch name {
	case "echo", "printf", "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "test", "[", "true", "false", ":", "read", "say", "cowsay", "man", "apropos", "tldr", "whatis", "banner", "logger", "notify-send":
		if name == "rg" && slices.ContainsFunc(ws, func(w word) bool {
			return strings.HasPrefix(w.text, "--pre") || strings.HasPrefix(w.text, "--hostname")
		}) || name == "man" && slices.ContainsFunc(ws, func(w word) bool { return strings.HasPrefix(w.text, "-") }) {
			return ws, false
		}
		return ws[:1], true
	case "git", "gh", "glab", "hub", "hg", "jj", "svn", "ralph", "bd":
		return withoutMessages(name, ws), false
	}
	return ws, false
}

// withoutMessages is a command of a forge or a version control without what it says in messages.
func withoutMessages(name string, ws []word) []word {
	long := []string{"--message", "--title", "--body", "--notes", "--grep", "--subject", "--description", "--reason", "--comment", "--author", "--trailer", "--format", "--pretty"}
	short := "m"
	switch name {
	case "gh", "glab":
		short = "mtbnd"
		if len(ws) > 1 && slices.Contains([]string{"api", "alias", "extension", "repo"}, ws[1].text) {
			return ws
		}
	case "git":
		if at := sub(ws); at > 0 && slices.Contains([]string{"log", "show", "diff", "rev-list", "shortlog", "whatchanged"}, ws[at].text) {
			short = "mSG"
		} else if at > 0 && ws[at].text == "grep" {
			if slices.ContainsFunc(ws[at:], func(w word) bool { return strings.HasPrefix(w.text, "-O") || strings.HasPrefix(w.text, "--op") }) {
				return ws // it opens what it finds with a program
			}
			return ws[:at+1]
		} else if at > 0 && !slices.Contains([]string{"commit", "tag", "merge", "notes", "stash", "revert", "cherry-pick", "pull"}, ws[at].text) {
			return ws
		}
	case "ralph":
		short, long = "m", append(long, "--text")
	}
	var out []word
	for i := 0; i < len(ws); i++ {
		text := ws[i].text
		key, _, given := strings.Cut(text, "=")
		switch {
		case i > 0 && slices.Contains(long, key):
			if !given {
				i++
			}
			out = append(out, plain(key))
		case i > 0 && len(text) > 1 && text[0] == '-' && text[1] != '-' && strings.ContainsAny(text[1:], short):
			at := 1 + strings.IndexAny(text[1:], short)
			if out = append(out, word{text[:at+1], ws[i].many}); at == len(text)-1 {
				i++
			}
		default:
			out = append(out, ws[i])
		}
	}
	return out
}

// says is what a command prints, nil when that takes judging it first.
func (k *analysis) says(ws []word, in *source) *source {
	if hiddenName(ws[0]) {
		return nil
	}
	name := base(ws[0])
	arg := func(i int) string {
		if i < len(ws) {
			return ws[i].text
		}
		return ""
	}
	plainly := func(text string) *source { return &source{text: text, known: true} }
	switch name {
	case ":", "true":
		return plainly("")
	case "echo":
		return said(k.atHome(ws[1:]), true)
	case "printf":
		return formatted(k.atHome(ws[1:]))
	case "cat", "tee", "bat", "zcat", "gunzip", "gzip", "xz", "zstd", "bzcat", "xzcat", "sort", "uniq", "head", "tail", "grep", "egrep", "fgrep", "rg", "nl", "tac", "shuf", "tr", "sponge", "column", "fold", "cut", "pv", "unbuffer", "stdbuf":
		return k.filtered(name, ws, in)
	case "awk", "sed", "gawk":
		if in != nil && len(in.names) == 1 && strings.HasPrefix(in.names[0].text, everyOf) && len(ws) == 2 {
			if strings.Contains(ws[1].text, "/") || strings.Contains(ws[1].text, "==") || strings.Contains(ws[1].text, "~") {
				return &source{names: []word{plain("0")}}
			}
			return in
		}
		return nil
	case "base64", "base32", "xxd", "openssl", "rev", "perl", "jq", "yq":
		return nil
	case "pwd":
		if dir := k.s.dirs[k.pick%len(k.s.dirs)]; dir != hole {
			return plainly(dir)
		}
	case "mktemp", "tempfile":
		for i, w := range ws[1:] {
			if strings.HasPrefix(w.text, "-p") || strings.HasPrefix(w.text, "--tmpdir=") || i > 0 && ws[i].text == "-p" {
				return plainly("/tmp/.temporary/unique")
			}
			if !strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "XXX") && !w.holes() {
				if strings.Contains(w.text, "/") {
					return &source{names: []word{plain(strings.ReplaceAll(w.text, "X", "x"))}}
				}
				return plainly(strings.ReplaceAll(w.text, "X", "x"))
			}
		}
		return plainly("/tmp/.temporary/unique")
	case "date", "nproc", "uname", "hostname", "arch", "id", "tput", "wc", "sha256sum", "md5sum", "uuidgen", "getconf", "sysctl", "lsb_release", "dpkg-architecture", "seq", "expr", "bc", "stat", "du", "rustc", "sw_vers":
		if name == "id" && arg(1) == "-un" {
			return k.user()
		}
		return &source{names: []word{plain("value")}}
	case "whoami", "logname":
		return k.user()
	case "dirname", "realpath", "readlink", "basename":
		return k.pathSaid(name, ws)
	case "command", "which", "type":
		if w := ws[len(ws)-1]; len(ws) > 1 && !w.holes() && (name != "command" || arg(1) == "-v" || arg(1) == "-V") {
			return plainly(w.text)
		}
	case "git":
		return k.gitSays(ws)
	case "go":
		if arg(1) == "env" {
			return &source{names: []word{plain(home + "/go")}}
		}
		if arg(1) == "list" {
			return &source{names: []word{plain("./package")}}
		}
	case "find", "fd", "ls", "fdfind", "gfind":
		return k.namesSaid(name, ws)
	case "npm", "pnpm", "yarn", "brew", "pkg-config", "python", "python3", "node", "xcrun", "llvm-config", "pg_config", "rustup", "cargo":
		if slices.Contains([]string{"bin", "root", "prefix", "--prefix", "config", "--cflags", "--libs", "--version", "-V", "-v", "--bindir"}, arg(1)) {
			return &source{names: []word{plain("value")}}
		}
	case "ps":
		return &source{names: []word{plain(everyOf + "process")}}
	case "pgrep", "pidof":
		if _, operands := arguments0(ws, " -u -U -g -t -P "); len(operands) > 0 && strings.Trim(operands[0].String(), ".*^$") != "" && operands[0].text != "ralph" {
			return &source{names: []word{plain("0")}}
		}
		return &source{names: []word{plain(everyOf + "process")}}
	case "docker", "podman", "nerdctl":
		if slices.ContainsFunc(ws, func(w word) bool {
			return strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && strings.HasSuffix(w.text, "q") || w.text == "--quiet"
		}) {
			if given(ws[1:], "-f --filter") {
				return &source{names: []word{plain("value")}}
			}
			return &source{names: []word{plain(everyOf + arg(1))}}
		}
	case "ssh-agent", "direnv", "dircolors", "brew shellenv", "pyenv", "rbenv", "nodenv", "fnm", "starship", "zoxide", "thefuck", "opam", "luarocks", "mise", "asdf", "conda", "lesspipe", "resize", "keychain", "minikube", "docker-machine", "register-python-argcomplete":
		return plainly("") // the text for eval that sets variables
	}
	return nil
}

// atHome are words as a program gets them: with the path of the home folder, where that is known.
func (k *analysis) atHome(ws []word) []word {
	if len(k.home) == 0 || !slices.ContainsFunc(ws, func(w word) bool { return strings.Contains(w.text, home) }) {
		return ws
	}
	out := make([]word, len(ws))
	for i, w := range ws {
		out[i] = word{strings.ReplaceAll(w.text, home, "/"+strings.Join(k.home, "/")), w.many}
	}
	return out
}

func (k *analysis) user() *source {
	if len(k.home) > 0 {
		return &source{text: k.home[len(k.home)-1], known: true}
	}
	return &source{}
}

func (k *analysis) gitSays(ws []word) *source {
	at := sub(ws)
	if at == 0 || ws[at].holes() {
		return nil
	}
	switch ws[at].text {
	case "rev-parse", "describe", "branch", "symbolic-ref", "log", "rev-list", "config", "tag", "remote", "merge-base", "name-rev", "show", "ls-remote", "for-each-ref", "hash-object", "write-tree", "commit-tree", "show-ref", "var", "version", "stash", "cherry", "status":
		if slices.ContainsFunc(ws, func(w word) bool { return w.text == "--show-toplevel" }) && len(k.work) > 0 {
			return &source{text: "/" + strings.Join(k.work, "/"), known: true}
		}
		if ws[at].text == "config" && len(ws) > at+1 && slices.ContainsFunc(ws[at:], func(w word) bool { return strings.HasPrefix(w.text, "alias.") }) || ws[at].text == "log" || ws[at].text == "show" {
			if !slices.ContainsFunc(ws, func(w word) bool {
				return strings.Contains(w.text, "%H") || strings.Contains(w.text, "%h") || strings.Contains(w.text, "%ct")
			}) {
				return nil // words that people wrote
			}
		}
		return &source{names: []word{plain("value")}}
	case "ls-files", "diff", "ls-tree", "grep", "diff-tree", "diff-index":
		return &source{names: []word{plain("./name")}}
	}
	return nil
}

// pathSaid is what programs say that take paths apart.
func (k *analysis) pathSaid(name string, ws []word) *source {
	for _, w := range slices.Backward(ws[1:]) {
		if strings.HasPrefix(w.text, "-") || strings.Contains(w.text, "BASH_SOURCE") {
			continue
		}
		switch {
		case name == "dirname" && (w.text == hole || w.text == "script"):
			return &source{names: []word{plain(".")}} // of $0
		case w.holes():
			return &source{}
		case name == "dirname" && strings.HasPrefix(w.text, home):
			return &source{names: []word{plain(path.Dir("/" + strings.Join(k.homes(), "/") + w.text[len(home):]))}}
		case name == "dirname":
			return &source{names: []word{plain(path.Dir(w.text))}}
		case name == "basename":
			return &source{names: []word{plain(path.Base(w.text))}}
		}
		return &source{names: []word{w}}
	}
	return &source{}
}

// namesSaid are the names that find and ls print.
func (k *analysis) namesSaid(name string, ws []word) *source {
	var names []word
	pattern := "*"
	for i, w := range ws[1:] {
		if strings.HasPrefix(w.text, "-") || slices.Contains([]string{"(", "!", ")"}, w.text) {
			if name == "find" || name == "gfind" {
				if (w.text == "-name" || w.text == "-iname") && i+2 < len(ws) && !ws[i+2].holes() {
					pattern = ws[i+2].String()
				}
			}
			continue
		}
		if i > 0 && (name == "find" || name == "gfind") && slices.ContainsFunc(ws[1:i+1], func(w word) bool {
			return strings.HasPrefix(w.text, "-") && w.text != "-L" && w.text != "-H" && w.text != "-P"
		}) {
			continue
		}
		if name == "fd" || name == "fdfind" {
			continue
		}
		names = append(names, w)
	}
	if len(names) == 0 {
		names = []word{plain(".")}
	}
	out := make([]word, 0, len(names))
	for _, w := range names {
		if name == "ls" && w.globs() {
			out = append(out, word{text: w.text})
			continue
		}
		if name == "ls" { // names without their folder
			w.text = "."
			if len(names) == 1 && ws[len(ws)-1].text == "/" {
				w.text = "/"
			}
		}
		out = append(out, word{text: strings.TrimSuffix(w.text, "/") + "/" + marked(pattern), many: w.many})
	}
	return &source{names: out}
}

// filtered is what is left of what a program reads.
func (k *analysis) filtered(name string, ws []word, in *source) *source {
	var files []word
	operands := 0
	for _, w := range ws[1:] {
		if !strings.HasPrefix(w.text, "-") || w.text == "-" {
			files = append(files, w)
			operands++
		}
	}
	switch name {
	case "cat", "tac", "nl", "zcat", "sort", "bat", "gzip", "gunzip", "xz", "zstd", "bzcat", "xzcat":
		if len(files) > 0 && files[0].text != "-" && !strings.HasPrefix(files[0].text, "/dev/stdin") && files[0].text != "/dev/fd/0" {
			out := &source{file: true}
			for i, f := range files {
				if src, ok := k.written(f); ok {
					if i == 0 && len(files) == 1 {
						return src
					}
					out = &source{text: out.text + src.text, known: src.known && (i == 0 || out.known), over: src.over}
					continue
				}
				if f.holes() {
					out.file, out.known = false, false
				}
			}
			return out
		}
	case "grep", "egrep", "fgrep", "rg":
		if in != nil && len(in.names) == 1 && strings.HasPrefix(in.names[0].text, everyOf) && !given(ws[1:], "-v --invert-match") {
			return &source{names: []word{plain("0")}}
		}
		if slices.ContainsFunc(ws, func(w word) bool {
			return w.text == "-l" || w.text == "--files" || strings.HasPrefix(w.text, "--files-with") || strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, "l")
		}) && (in == nil || operands > 1) {
			return &source{names: []word{plain("./name")}}
		}
		if operands > 1 {
			return &source{file: true}
		}
	case "head", "tail", "uniq", "cut", "shuf", "column", "fold":
		if n := len(files); n > 0 && !strings.ContainsAny(files[n-1].text[:1], "0123456789-+,") && in == nil {
			return &source{file: true}
		}
	}
	if in == nil {
		in = k.s.in
	}
	if in == nil {
		return &source{}
	}
	if (name == "tr" || name == "cut") && in.known {
		return &source{text: in.text, over: in.over}
	}
	return in
}

// said is the output of echo; a backslash makes other text with -e.
func said(ws []word, newline bool) *source {
	escapes := false
	for len(ws) > 0 && len(ws[0].text) > 1 && ws[0].text[0] == '-' && strings.Trim(ws[0].text[1:], "neE") == "" {
		if newline = newline && !strings.Contains(ws[0].text, "n"); strings.Contains(ws[0].text, "e") {
			escapes = true
		}
		ws = ws[1:]
	}
	for _, w := range ws {
		if w.holes() || w.globs() {
			return &source{text: joined(ws)}
		}
	}
	text := strings.Join(shown(ws), " ")
	if escapes {
		text = ansi(text)
		if strings.Contains(text, hole) {
			return &source{text: joined(ws)}
		}
	}
	if newline {
		text += "\n"
	}
	return &source{text: text, known: true}
}

// shown are words as a program prints them: the home folder by its sign.
func shown(ws []word) []string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = strings.ReplaceAll(w.text, home, "~")
	}
	return out
}

// formatted is the output of printf.
func formatted(ws []word) *source {
	if len(ws) > 0 && ws[0].text == "--" {
		ws = ws[1:]
	}
	if len(ws) == 0 {
		return &source{known: true}
	}
	if slices.ContainsFunc(ws, func(w word) bool { return w.holes() || w.globs() }) {
		return &source{text: joined(ws)}
	}
	format := ansi(ws[0].text)
	args := shown(ws[1:])
	var b strings.Builder
	for round := 0; round == 0 || len(args) > 0 && round < maxWords; round++ {
		used := false
		for i := 0; i < len(format); i++ {
			if format[i] != '%' || i+1 == len(format) {
				b.WriteByte(format[i])
				continue
			}
			i++
			switch format[i] {
			case '%':
				b.WriteByte('%')
			case 's', 'b', 'q', 'd', 'i':
				used = true
				if len(args) > 0 {
					if format[i] == 'b' {
						b.WriteString(ansi(args[0]))
					} else {
						b.WriteString(args[0])
					}
					args = args[1:]
				}
			default:
				return &source{text: joined(ws)}
			}
		}
		if !used {
			break
		}
	}
	if strings.Contains(b.String(), hole) {
		return &source{text: joined(ws)}
	}
	return &source{text: b.String(), known: true}
}

// loose looks at text that is no shell: each of its words may begin a command.
func (k *analysis) loose(text string) {
	text = strings.NewReplacer(hole, " ", live, "", home, "~").Replace(text)
	fields := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n'\"`,;()[]{}|&", r) })
	if len(fields) > maxWords {
		fields = fields[:maxWords]
	}
	ws := make([]word, len(fields))
	for i, f := range fields {
		if ws[i] = plain(f); strings.HasPrefix(f, "~") {
			ws[i] = plain(home + strings.TrimPrefix(f, "~"))
		} else if strings.HasPrefix(f, "$HOME") {
			ws[i] = plain(home + strings.TrimPrefix(f, "$HOME"))
		}
	}
	k.quiet++
	for i := range ws {
		if risky(ws[i].text) {
			k.aside(func() { k.program(ws[i:min(len(ws), i+12)], nil) })
		}
	}
	k.quiet--
	if dropSQL(text) {
		k.never(dropDatabase, []word{plain(text)})
	}
}

// index does so for the words of a command of the shell itself that names variables.
func (k *analysis) index(ws []word) {
	if !slices.Contains([]string{"printf", "test", "[", "read", "unset", "mapfile", "readarray", "wait", "getopts"}, ws[0].text) {
		return
	}
	if ws[0].text == "printf" && (len(ws) < 3 || ws[1].text != "-v") {
		return
	}
	for _, w := range ws[1:] {
		text := w.String()
		if at := strings.IndexByte(text, '['); at > 0 && (strings.Contains(text[at:], "$(") || strings.Contains(text[at:], "`")) {
			k.unknown("a substitution within an index, which the shell runs", ws)
		}
	}
}
