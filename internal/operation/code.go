package operation

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

var (
	interpreter = lazyregexp.New(`^(python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|expect|osascript|rscript|r|awk|gawk|mawk|nawk|jshell|groovy|julia|elixir|ghci|ex|vim|nvim|vi|ed|emacs|erl|iex|irb|ipython|ipython3|scala|kotlin|tsx|ts-node|swift|runghc|ghc|ocaml|guile|racket|sbcl|clojure|bb|janet|raku|jruby|gjs|qjs|rails|m4|octave|gdb|wish|escript|crystal|dart|nix-instantiate|powershell-code)[0-9.]*$`)
	// callsOut are calls that run programs, by the names that languages have for them.
	callsOut = lazyregexp.New("(?i)\\b(os\\.system|os\\.popen|os\\.exec[a-z]*|os\\.spawn[a-z]*|os\\.posix_spawn|subprocess\\.[a-z_]+|subprocess|pty\\.spawn|getoutput|child_process|execsync|execfilesync|execfile|spawnsync|spawn|popen[0-9]*|shell_exec|passthru|proc_open|pcntl_exec|create_subprocess_[a-z]+|os\\.execute|io\\.popen|do shell script|system\\.cmd|os:cmd|open3|shell-command[a-z-]*|call-process|shelljs|execa|zx|run\\(`|deno\\.run|deno\\.command|bun\\.spawn|bun\\.\\$|termopen|jobstart|uiop|sh\\.exec|processbuilder|getruntime|io\\.pipe|process\\.run|system2|importlib|nssystem|open-pipe|writeln)\\b|\\b(system|exec|syscall|backquote)\\s*[(\"' ]|`|\\bqx\\b|%x\\s*[\\[({\"'|!]|open\\s*\\(?[^)]*[\"']\\s*\\|")
	codeEval = lazyregexp.New(`(?i)(^|[^.\w])(eval|exec|execfile|compile|instance_eval|class_eval|load_string|loadstring|new function|assert|create_function|__import__|getattr|import_module|require_relative)\s*[(]|(^|[^.\w$])eval\s+["'$]|fromcharcode|b64decode|base64|unpack\s*\(|\[::-1\]|\.reverse\b|codecs\.|marshal\.|zlib\.|decodeuricomponent|\batob\b|unescape\(|chr\(|\.from\([^)]*hex|bytes\.fromhex|rot13|vm\.run|runinthiscontext|\$\$\{|->\$|globalthis\[|process\[|require\([a-z_]+\)|\.constructor\b|\bsend\s*\(`)
	// removal are calls that delete files; those of trees are in removalDeep.
	removal     = lazyregexp.New(`(?i)["']unlink["']|\bremove(directoryrecursive|pathforcibly)\b|\b(file\s+delete|os\.remove|os\.unlink|os\.rmdir|os\.removedirs|os\.truncate|os\.rename|os\.replace|unlinksync|unlink|rmdirsync|rmdir|fs\.rm|fs\.unlink|fs\.truncate|truncatesync|rmsync|fs\.promises\.rm|promises\.rm|file\.delete|file\.unlink|dir\.delete|dir\.rmdir|dir\.unlink|fileutils\.[a-z_]*(rm|remove|move|mv)[a-z_]*|shutil\.(rmtree|move)|rmtree|remove_tree|removeall|remove_dir_all|remove_entry[a-z_]*|remove_dir|rm_rf|rm_r|rimraf|del_dir_r|rm-rf|removeitem|file\s+delete|delete-directory|delete-file|os\.removeall|delete|trash|emptydirsync|removesync|fs\.remove|deno\.remove|deno\.removesync|rm!?|rm_rf!|file\.rm_rf!?|path\.unlink|\.unlink|remove|deltree|file\.delete_all|filesystem\.delete|truncate|recursive-delete|delete-directory-and-files|delete-directory/files|uiop:delete-directory-tree|writefilesync|writefile|file_put_contents|open)\s*[!]?\s*([( ;]|$)`)
	removalDeep = lazyregexp.New(`(?i)removeitem|removedirectoryrecursive|removepathforcibly|file\s+delete\s+-force|rmtree|remove_tree|removeall|remove_dir_all|remove_entry|rm_rf|rm_r\b|rimraf|del_dir_r|delete-directory|recursive|fileutils\.(rm|remove)|emptydir|removesync|fs\.remove|"rf"|'rf'|force:\s*true|shutil\.(rmtree|move)|removedirs|deltree|os\.rename|os\.replace|fileutils\.mv|deno\.remove`)
	walks       = lazyregexp.New(`(?i)os\.walk|glob|rglob|listdir|scandir|iterdir|readdir|walkdir|find::|find\(|\.entries|each_child|dir\[|dir\.children|fs\.cp|file::find|traverse|opendir|ls\(|readdirsync`)
	homeWords   = lazyregexp.New(`(?i)os\.homedir\(\)|homedir\(\)|(os\.path\.)?expanduser\(\s*(['"])~(/?)['"]\s*\)|(pathlib\.)?path\.home\(\)|\$?env\s*[\[{(]\s*['"]?home['"]?\s*[\]})]|process\.env\.home|process\.env\[\s*['"]home['"]\s*\]|(os\.)?(getenv|environ(\.get)?)\s*[(\[]\s*['"]home['"]\s*[\])]|dir\.home(\(\))?|file\.expand_path\(\s*['"]~/?['"]\s*\)|system\.user_home!?\(?\)?|\$ENV\{['"]?HOME['"]?\}|\$_(server|env)\[['"]?home['"]?\]|env::var\("home"\)|deno\.env\.get\(\s*['"]home['"]\s*\)|bun\.env\.home|userprofile|sys\.getenv\(['"]home['"]\)|path\.expand\(['"]~['"]\)|os\.userhomedir\(\)|sys\.env\(['"]home['"]\)|homedir\b|os\.getenv\s*['"]home['"]|env\.fetch\(['"]home['"]\)`)
	literal     = lazyregexp.New("\"((?:[^\"\\\\]|\\\\.)*)\"|'((?:[^'\\\\]|\\\\.)*)'|`((?:[^`\\\\]|\\\\.)*)`")
	joinedText  = lazyregexp.New(`(["'])\s*(\+|\.|\.\.|<>)\s*(["'])`)
	codePush    = lazyregexp.New(`(?is)\bpush\b.{0,80}\bforce\b|\bforce\b.{0,30}push|git/refs/.{0,200}(patch|delete|force)|(patch|delete|put)\b.{0,200}git/refs/|repo.{0,5}\.git\.push\(.{0,40}(-f|\+)`)
	codeDisk    = lazyregexp.New(`(?i)/dev/(sd|hd|vd|nvme|mmcblk|disk|xvd)|physicaldrive`)
	sedRuns     = lazyregexp.New(`^(\d+|\$|/[^/]*/)?!?e\s+\S|^(\d+|\$|/[^/]*/)?e$|(^|;|\{)\s*e\s+\S+|^s(.).*[^\\]/[gpiIm0-9]*e[gpiIm0-9]*$|^s\|[^|]*\|[^|]*\|[gpiI0-9]*e[gpiI0-9]*$|^s#[^#]*#[^#]*#[gpiI0-9]*e[gpiI0-9]*$|^s,[^,]*,[^,]*,[gpiI0-9]*e[gpiI0-9]*$`)
	editorRuns  = lazyregexp.New(`(?i)(^|[\s+:|])!|system\(|:?term(inal)?\b|delete\(|py3?\b|lua\b`)
)

// code judges what is given to an interpreter of another language.
func (k *analysis) code(name string, ws []word, in *source) {
	lang := strings.TrimRight(name, "0123456789.")
	var texts []string
	hiddenCode := false
	eval := false
	awk := strings.HasSuffix(lang, "awk")
	file := word{}
	for i := 1; i < len(ws); i++ {
		w := ws[i]
		switch {
		case awk && !strings.HasPrefix(w.text, "-") && len(texts) == 0 && !(ws[i-1].text == "-f" || ws[i-1].text == "-F" || ws[i-1].text == "-v"):
			texts = append(texts, w.text)
		case awk && ws[i-1].text == "-f":
			if src, ok := k.written(w); ok {
				texts = append(texts, src.text)
			}
			texts = append(texts, "")
		case !awk && i > 0 && codeFlag(lang, ws[i-1].text):
			texts = append(texts, w.text)
			eval = true
			if w.text == hole || w.many {
				hiddenCode = true
			}
		case !awk && strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && len(w.text) > 2 && gluedCode(lang, w.text):
			texts = append(texts, w.text[2:])
			eval = true
		case strings.HasPrefix(w.text, "--eval=") || strings.HasPrefix(w.text, "--print=") || strings.HasPrefix(w.text, "--cmd="):
			_, v, _ := strings.Cut(w.text, "=")
			texts = append(texts, v)
			eval = true
		case isVim(lang) && strings.HasPrefix(w.text, "+"):
			texts = append(texts, w.text[1:])
			eval = true
		case file.text == "" && !strings.HasPrefix(w.text, "-") && !eval && !awk:
			file = w
		}
	}
	if hiddenCode {
		k.unknown("the code that is run is hidden in a variable or a substitution", ws)
		return
	}
	if (lang == "deno" || lang == "bun" || lang == "rails") && file.text != "" && !eval {
		if file.text == "run" || file.text == "test" || lang != "deno" {
			k.made(lang, ws, in)
		}
		k.published(name, ws)
		k.migrates(name, ws)
		return
	}
	if lang == "python" || lang == "pypy" {
		if i := slices.IndexFunc(ws, func(w word) bool { return w.text == "-m" }); i > 0 && i+1 < len(ws) && !eval {
			k.published(ws[i+1].text, ws[i+1:])
			k.migrates(ws[i+1].text, ws[i+1:])
			return
		}
	}
	if !eval && !awk {
		switch {
		case file.text == "" || file.text == "-" || file.text == "/dev/stdin":
			if in == nil {
				in = k.s.in
			}
			if in == nil || in.file {
				return
			}
			if !in.known && (in.over || strings.TrimSpace(in.text) == "") {
				k.unknown("nobody knows what code it reads", ws)
				return
			}
			texts = append(texts, in.text)
		default:
			src, ok := k.written(file)
			if !ok {
				if strings.HasPrefix(file.text, "/dev/") {
					k.unknown("nobody knows what code it reads", ws)
				}
				if !strings.ContainsAny(file.text, "./") && (lang == "dart" || lang == "swift") { // words of their own
					k.published(name, ws)
				} else if i := slices.IndexFunc(ws, func(w word) bool { return w == file }); i > 0 {
					k.published(base(file), ws[i:])
					k.migrates(base(file), ws[i:])
				}
				return
			}
			if src.over || !src.known && strings.TrimSpace(src.text) == "" && !src.file {
				k.unknown("it runs what it wrote itself, and nobody knows what that is", ws)
				return
			}
			texts = append(texts, src.text)
		}
	}
	for _, text := range texts {
		k.program1(lang, text, ws)
	}
}

func isVim(lang string) bool {
	return slices.Contains([]string{"vim", "nvim", "vi", "ex", "ed"}, lang)
}

// codeFlag reports whether an option of an interpreter is followed by code.
func codeFlag(lang, option string) bool {
	switch lang {
	case "php":
		return option == "-r" || option == "-B" || option == "-R" || option == "-E"
	case "deno", "bun":
		return option == "eval" || option == "-e" || option == "--eval" || option == "-p"
	case "vim", "nvim", "vi", "ex":
		return option == "-c" || option == "--cmd" || option == "-cmd"
	case "emacs":
		return option == "--eval" || option == "-eval" || option == "--execute"
	case "erl":
		return option == "-eval"
	case "rails":
		return option == "runner" || option == "r"
	case "python", "pypy", "ipython":
		return strings.HasPrefix(option, "-") && !strings.HasPrefix(option, "--") && strings.HasSuffix(option, "c") && len(option) < 6
	case "gdb":
		return option == "-ex" || option == "--eval-command"
	case "raku", "guile", "racket", "julia", "elixir", "ghci", "ocaml", "swift", "rscript", "osascript", "lua", "luajit", "tclsh", "expect", "groovy", "scala", "sbcl", "clojure", "bb", "janet", "kotlin", "crystal", "octave", "r", "runghc", "ghc", "iex", "irb", "tsx", "qjs", "gjs", "jruby", "nix-instantiate":
		return slices.Contains([]string{"-e", "--eval", "-c", "--expr", "-E", "--expression", "-p", "--print", "--rpc-eval"}, option)
	}
	if strings.HasPrefix(option, "--") {
		return option == "--eval" || option == "--print"
	}
	return strings.HasPrefix(option, "-") && len(option) > 1 && len(option) < 8 && strings.ContainsAny(option[len(option)-1:], "epE") && option != "-pe-"
}

// gluedCode reports whether code stands in the same word as its option.
func gluedCode(lang, text string) bool {
	flag := map[string]string{"python": "c", "pypy": "c", "perl": "eE", "ruby": "e", "node": "ep", "nodejs": "ep", "php": "r", "lua": "e", "vim": "c", "nvim": "c"}[lang]
	return flag != "" && strings.ContainsAny(text[1:2], flag) && strings.ContainsAny(text[2:], "( ;'\"`")
}

// program1 judges a text in a language.
func (k *analysis) program1(lang, text string, ws []word) {
	if len(text) > maxText {
		k.unknown("the code is too long to be looked at", ws)
		return
	}
	text = joinedText.ReplaceAllStringFunc(text, func(m string) string { // "a" + "b"
		if m[0] == m[len(m)-1] {
			return ""
		}
		return m
	})
	text = homeWords.ReplaceAllString(text, `"`+home+`"`)
	text = strings.ReplaceAll(text, live, "")
	text = regexp.MustCompile(`(?:path\.)?join\(\s*"`+home+`"\s*,\s*(?:"\.?"|'\.?')?\s*\)`).ReplaceAllString(text, `"`+home+`"`)
	switch {
	case codePush.MatchString(text):
		k.never(pushForce, ws)
	case codeDisk.MatchString(text) && (strings.ContainsAny(text, "w>") && codeRe0.MatchString(text)):
		k.never(formatDisk, ws)
	}
	if rareLanguages()[lang] { // whose words for it nobody has listed: what is certain in its texts
		var parts []string
		for _, m := range literal.FindAllStringSubmatch(text, 100) {
			parts = append(parts, m[1]+m[2]+m[3])
		}
		k.quiet++
		k.composed(parts, ws)
		k.quiet--
	}
	k.calls(text, ws)
	if codeStops.MatchString(text) {
		k.unknown("it ends what others need", ws)
	}
	if forkText.MatchString(text) && !strings.Contains(text, "wait") {
		k.unknown("it starts itself without end", ws)
	}
	if dropSQL(text) && codeRe1.MatchString(text) {
		k.never(dropDatabase, ws)
	}
	runs := callsOut.MatchString(text)
	switch {
	case strings.HasSuffix(lang, "awk"):
		runs = codeRe2.MatchString(text)
	case isVim(lang):
		runs = editorRuns.MatchString(text)
	case lang == "perl":
		runs = codeRe3.MatchString(text)
	case lang == "node" || lang == "nodejs" || lang == "bun" || lang == "deno":
		runs = codeRe4.MatchString(text)
	case lang == "groovy" || lang == "scala" || lang == "kotlin":
		runs = runs || codeStarts.MatchString(text)
	case lang == "emacs":
		runs = runs || codeRe5.MatchString(text)
	}
	if runs {
		k.callsOut(lang, text, ws)
	}
	if lang == "python" || lang == "node" || lang == "ruby" {
		text = evalText.ReplaceAllString(text, "($2$3$4)")
	}
	if codeEval.MatchString(text) && !strings.HasSuffix(lang, "awk") && lang != "perl" && lang != "php" && lang != "m4" {
		if m := codeEval.FindString(text); !codeRe6.MatchString(m) || runs || codeRe7.MatchString(text) {
			k.unknown("code that may run any command", ws)
		}
	}
	if (lang == "perl" || lang == "php") && codeRe8.MatchString(text) && !codeRe9.MatchString(text) {
		k.unknown("code that may run any command", ws)
	}
	k.removedBy(text, ws)
}

// callsOut judges the texts that code gives to a shell: where all of them stand there, they are
// commands as any; else nobody knows.
func (k *analysis) callsOut(lang, text string, ws []word) {
	var parts []string
	for _, m := range literal.FindAllStringSubmatch(text, 100) {
		v := m[1] + m[2] + m[3]
		v = strings.NewReplacer(`\"`, `"`, `\'`, `'`, `\\`, `\`, `\n`, "\n").Replace(v)
		parts = append(parts, v)
	}
	if strings.HasSuffix(lang, "awk") || isVim(lang) {
		rest := text
		if isVim(lang) {
			if _, cmd, ok := strings.Cut(text, "!"); ok {
				k.aside(func() { k.evaluate([]word{plain(cmd)}, ws, nil) })
				return
			}
		}
		if !strings.Contains(rest, "system") && len(parts) > 0 && !codeRe10.MatchString(rest) {
			for _, p := range parts {
				k.certain(plain(p + " "))
			}
			return
		}
	}
	if lang == "expect" { // whose words need no quotes
		for piece := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || r == '\n' }) {
			for _, verb := range []string{"spawn ", "exec ", "system "} {
				if cmd, ok := strings.CutPrefix(strings.TrimSpace(piece), verb); ok {
					k.aside(func() { k.evaluate([]word{plain(cmd)}, ws, nil) })
				}
			}
		}
		if !strings.ContainsAny(text, "$[") {
			return
		}
	}
	if lang == "perl" {
		if m := codeRe11.FindStringSubmatch(text); m != nil {
			parts = append(parts, m[1])
		}
	}
	if m := codeRe12.FindStringSubmatch(text); m != nil {
		parts = append(parts, m[1])
	}
	if len(parts) == 0 {
		k.unknown("code that may run any command", ws)
		return
	}
	// what is no text: a variable in the call means that nobody knows
	bare := literal.ReplaceAllString(text, `""`)
	variable := codeRe13
	dynamic := variable.MatchString(bare) || codeRe14.MatchString(bare) || strings.Contains(text, "#{") || codeRe15.MatchString(text) || lang == "node" && strings.Contains(text, "${") || strings.Contains(text, hole) || codeRe16.MatchString(bare)
	if dynamic {
		for _, p := range parts {
			k.certain(plain(p + " "))
		}
		if (lang == "python" || lang == "ruby" || lang == "node") && !strings.Contains(text, hole) && !otherText.MatchString(text) && !codeEval.MatchString(text) {
			// all that it can run is made of its own texts
			k.composed(parts, ws)
			return
		}
		k.unknown("code that may run any command", ws)
		return
	}
	for _, m := range directCall.FindAllStringSubmatch(text, 20) {
		k.aside(func() { k.evaluate([]word{homed(m[1] + m[2])}, ws, nil) })
	}
	for _, p := range parts {
		if strings.TrimSpace(p) != "" && (strings.ContainsAny(p, " \n") || isRisky(p)) {
			k.aside(func() { k.tryCommand(p, ws) })
		}
	}
	k.aside(func() { k.tryCommand(strings.Join(parts, " "), ws) })
	for i, p := range parts { // a list of words, or a module before it
		if isRisky(base(plain(p))) || isShell(base(plain(p))) {
			argv := make([]word, 0, len(parts)-i)
			for _, a := range parts[i:] {
				argv = append(argv, homed(a))
			}
			k.aside(func() { k.simple(argv, nil, nil, nil) })
		}
	}
}

// composed judges texts of which code makes commands by itself: one behind the other, and
// each as the beginning of one.
func (k *analysis) composed(parts []string, ws []word) {
	for _, by := range []string{" ", ""} {
		k.loose(strings.Join(parts, by))
	}
	// in whatever order: each program that matters with all the other words
	var names, operands, options []word
	for _, f := range strings.FieldsFunc(strings.Join(parts, " "), func(r rune) bool { return strings.ContainsRune(" \t\n%${}()'\"`,;", r) }) {
		switch w := homed(f); {
		case strings.HasPrefix(f, "-") || strings.HasPrefix(f, "+"):
			options = append(options, w)
		case isRisky(f) || isShell(f) || isKnownDeployer(f):
			names = append(names, w)
		default:
			if !slices.Contains([]string{"child_process", "node:child_process", "fs", "os", "path", "util"}, f) { // modules
				operands = append(operands, w)
			}
		}
	}
	if len(names) > 12 || len(operands)+len(options) > maxWords/4 {
		k.unknown("code that may run any command", ws)
		return
	}
	for _, name := range names {
		k.aside(func() { k.simple(slices.Concat([]word{name}, operands, options), nil, nil, nil) })
	}
	for i, p := range parts {
		if first, _, _ := strings.Cut(strings.TrimSpace(p), " "); !isRisky(first) && !isShell(first) && !isKnownDeployer(first) {
			continue
		}
		text := strings.Join(parts[i:min(len(parts), i+12)], " ")
		k.aside(func() { k.evaluate([]word{plain(p)}, ws, nil) })
		k.aside(func() { k.tryCommand(text, ws) })
	}
}

// homed is a text of code as a word: the home folder, and nothing else, has its sign.
func homed(text string) word {
	if strings.HasPrefix(text, "~") {
		return plain(home + text[1:])
	}
	return plain(text)
}

// tryCommand judges text that is most likely a command.
func (k *analysis) tryCommand(text string, ws []word) {
	if first, _, ok := strings.Cut(text, " "); ok && isKnownDeployer(first) && k.quiet == 0 {
		k.evaluate([]word{plain(text)}, ws, nil) // no other text begins with such a name
		return
	}
	k.quiet++
	k.evaluate([]word{plain(text)}, ws, nil)
	k.quiet--
	if k.quiet == 0 && (strings.Contains(text, " | sh") || strings.Contains(text, "|sh") || strings.Contains(text, "| bash") || strings.Contains(text, "|bash")) {
		k.evaluate([]word{plain(text)}, ws, nil)
	}
}

// removedBy judges files that code deletes.
func (k *analysis) removedBy(text string, ws []word) {
	if !removal.MatchString(text) {
		return
	}
	onlyOpen := !codeRe17.MatchString(text)
	deep := removalDeep.MatchString(text)
	many := walks.MatchString(text)
	worst := nowhere
	var texts []word
	for _, m := range literal.FindAllStringSubmatch(text, 100) {
		texts = append(texts, homed(m[1]+m[2]+m[3]))
	}
	texts = append(texts, ws[1:]...)
	if base(ws[0]) == "tclsh" { // whose words need no quotes
		texts = append(texts, fields(text)...)
	}
	for _, w := range texts {
		t := w.text
		if strings.ContainsAny(t, " ;(){}\n,") || t == "" || !strings.HasPrefix(t, "/") && !strings.HasPrefix(t, home) && !strings.HasPrefix(t, "~") && !strings.Contains(t, "..") {
			continue
		}
		t = strings.TrimSuffix(strings.TrimSuffix(t, "**"), "*")
		if t == "" {
			continue
		}
		at := k.target(word{text: strings.ReplaceAll(t, "*", live+"*")})
		if k.critical(plain(t)) && writeMode.MatchString(text) {
			k.never(rmRoot, ws)
		}
		if onlyOpen && at != device {
			continue
		}
		if at == wholeRoot && t == "/" && !deep && !many {
			continue // a separator
		}
		if at == system && codeRe18.MatchString(t) {
			continue
		}
		worst = max(worst, at)
	}
	switch {
	case worst == device:
		k.never(formatDisk, ws)
	case (deep || many) && (worst == wholeRoot || worst == system):
		k.never(rmRoot, ws)
	case (deep || many) && (worst == wholeHome || worst == private):
		k.never(rmHome, ws)
	case deep && worst == elsewhere:
		k.outside++
		k.does(Effect{Verb: Delete, Target: cut(text), Certain: true, Bounded: true})
	case deep && !onlyOpen && codeRe19.MatchString(text) && !codeRe20.MatchString(text):
		k.unsure(Delete, "what the code removes is in a variable", ws)
	}
}

// directCall is one text that code gives to a shell as it stands.
var directCall = lazyregexp.New(`(?i)(?:os\.system|os\.popen|execsync|\bexec|\bsystem|\bpopen|shell_exec|passthru|getoutput|check_output|check_call|\.run|\.call|cmd)\s*\(?\s*(?:"([^"\\$#]*)"|'([^'\\]*)')`)

// Parts of what is looked for above.
var (
	codeRe0  = lazyregexp.New(`(?i)open|write|dd`)
	codeRe1  = lazyregexp.New(`(?i)execute|query|exec|drop_?database|command`)
	codeRe2  = lazyregexp.New(`\bsystem\s*\(|\|\s*getline|print[^;}]*\|\s*[^|]|\|&`)
	codeRe3  = lazyregexp.New("(^|[^\\w/$@%])(system|exec|qx)\\b\\s*[^/=,;]|`|open\\s*\\(?[^;]*[|\"'](\\s*\\||-\\||\\|-)")
	codeRe4  = lazyregexp.New(`(?i)child_process|execsync|spawnsync|shelljs|execa|deno\.(run|command)|bun\.(spawn|\$)|process\.binding`)
	codeRe5  = lazyregexp.New(`shell-command|call-process|start-process`)
	codeRe6  = lazyregexp.New(`(?i)assert|compile|base64|zlib|reverse|codecs|chr\(|unpack|b64|atob|decodeuri|getattr|import`)
	codeRe7  = lazyregexp.New(`(?i)exec\(|eval\(|system|import\(|getattr\(`)
	codeRe8  = lazyregexp.New(`(?i)(^|[^.\w$>])(eval|assert|create_function)\s*[("'$]|base64_decode|unpack\s*\(|->\$`)
	codeRe9  = lazyregexp.New(`eval\s*\{`)
	codeRe10 = lazyregexp.New(`\|\s*[a-zA-Z$(]|system\s*\(\s*[^"]|getline\s*<\s*[a-z$]`)
	codeRe11 = lazyregexp.New(`\bqx\s*[{(/|!\[]([^})/|!\]]*)`)
	codeRe12 = lazyregexp.New(`%x\s*[\[({|!]([^\])}|!]*)`)
	codeRe13 = lazyregexp.New(`(?i)(system|popen|exec[a-z]*|spawn[a-z]*|run|call|check_output|check_call|getoutput|execute|cmd)\s*\(\s*\[?\s*(f?["'][^"']*["']\s*[%+.]\s*[a-z_$]|[a-z_$@][\w.$\[\]]*\s*[,)\]+.\[(]|f"|f')`)
	codeRe14 = lazyregexp.New(`""\s*(\+|%|\.format|\.join|\.replace)\s*`)
	codeRe15 = lazyregexp.New(`\bf["']`)
	codeRe16 = lazyregexp.New(`""\s+""`)
	codeRe17 = lazyregexp.New(`(?i)del_dir|unlink|remove|delete|rm|trunc|rimraf|move|rename|replace|mv|trash|deltree`)
	codeRe18 = lazyregexp.New(`(?i)^#!`)
	codeRe19 = lazyregexp.New(`(?i)(rmtree|remove_tree|removeall|rm_rf|rm_r|rimraf|remove_entry|remove_dir_all|rmsync|\brm|delete|removesync)\s*!?[( ]\s*[\[]?\s*(\$?[a-z_@][\w.]*|process\.argv|sys\.argv|argv)\s*[,)\[;]`)
	codeRe20 = lazyregexp.New(`(?i)tmp|temp|build|dist|cache`)
)
