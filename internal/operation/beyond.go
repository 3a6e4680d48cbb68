package operation

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// Code that changes what is on other machines by a library instead of a program, and code that
// starts programs in languages that have their own words for it.
var (
	cloudCode     = lazyregexp.New(`(?is)\b(boto3|botocore|aws-sdk|googleapiclient|google\.cloud|azure\.(mgmt|storage|identity)|@azure/|kubernetes|pulumi)\b.*\b(delete|terminate|destroy|purge|remove)[a-z_]*\s*\(`)
	forgeCode     = lazyregexp.New(`(?is)\b(requests|httpx|fetch|axios|urllib|http|got|net::http|faraday|octokit|pygithub)\b.*\b(delete|patch|put)\b`)
	codePublishes = lazyregexp.New(`devtools::(release|submit_cran)|registrator\.register|libnpmpublish|npm-registry-fetch|twine\.commands`)
	forgeRepo     = lazyregexp.New(`(?i)(api\.github\.com|gitlab|gitea|codeberg|bitbucket)[^\s"']*/(repos|projects|repositories)/`)
	httpChanges   = lazyregexp.New(`(?i)\b(requests|httpx|axios|session|client|faraday|httparty|got|ky|http|restclient)\.(delete|put|patch)\s*\(|method["']?\s*[:=]>?\s*["'](delete|put|patch)|["'](delete|put|patch)["']\s*,\s*["']https?:|net::http::(delete|put|patch)|\.(post)\s*\(\s*["']https?://[^"']*(deploy|hooks?/|release|publish)`)
	httpHost      = lazyregexp.New(`https?://[\w\x00$%{]|HTTPS?Connection\(`)
	emptied       = lazyregexp.New(`(?i)\.(flushall|flushdb|drop_?database)\b|\b[a-z]\w*(\.unscoped)?\.(delete_all|destroy_all)\b|objects\.all\(\)\.delete\(`)
	testText      = lazyregexp.New(`(?i)test|fake|mock`)
	writeMode     = lazyregexp.New(`(?i)writefile|file_put_contents|["'][wax]b?\+?["']|truncate|unlink|remove|delete`)
	evalText      = lazyregexp.New(`\b(eval|exec)\(\s*(?:("[^"\\]*")|('[^'\\]*')|open\(\s*("[\w./-]+"|'[\w./-]+')\s*\)\.read\(\))\s*\)`)
	otherText     = lazyregexp.New(`(?i)\binput\s*\(|argv|stdin|\bopen\s*\(|readfile|requests|urllib|fetch\s*\(|https?\b|environ|getenv|process\.env|\.read\s*\(|recv|socket|env\[|sorted|replace|translate|maketrans|swapcase|lower\(|upper\(|\[-|\*\s*\[|\.sub\(|ord\(|hex|%c|\.pop\(`)
	codeStarts    = lazyregexp.New(`(?i)\.execute\s*\(|"\s*\.!|\.!!`)
	starts        = lazyregexp.New(`(?i)os\.system|subprocess\.|child_process|shell_exec|exec\.command|command::new|processbuilder|getruntime|\bsystem\s*\(|process\.start|execv?p?e?l?\s*\(|popen\s*\(`)
	sqlWrites     = lazyregexp.New(`(?i)\b(drop\s+(table|index|column|view|role|user|schema|database)|truncate\s+\w|delete\s+from|update\s+\S+\s+set|insert\s+into|alter\s+(table|role|user|database)|create\s+(table|index|user|role)|grant\s+\w|revoke\s+\w)`)
)

// stdin is what is known of what a program reads.
func stdin(in *source) string {
	if in == nil {
		return ""
	}
	return " " + in.text
}

// calls judges what code asks of other machines by a library.
func (k *analysis) calls(text string, ws []word) {
	if emptied.MatchString(text) && !testText.MatchString(text) {
		k.never(dropDatabase, ws)
	}
	if sqlWrites.MatchString(text) && slices.ContainsFunc(literal.FindAllString(text, 100), func(s string) bool { return !sqlWrites.MatchString(s) && deploysTo(plain(s)) }) {
		k.never(productionDeploy, ws)
	}
	if codePublishes.MatchString(text) {
		k.never(npmPublish, ws)
	}
	if cloudCode.MatchString(text) {
		k.unknown("what it takes away may be in production", ws)
	}
	if httpChanges.MatchString(text) && httpHost.MatchString(text) && !loopback.MatchString(text) {
		k.unknown("what it changes on another machine may not come back", ws)
	}
	if forgeCode.MatchString(text) && forgeRepo.MatchString(text) {
		k.never(pushForce, ws)
	}
}

// compiled judges sources that the command has written itself, when a compiler or a runner of
// their language is given them: only what is certain, since most of such code is a test.
func (k *analysis) compiled(name string, ws []word, in *source) {
	lang := ""
	switch name {
	case "go":
		lang = "go"
	case "pip", "pip3", "uv", "pytest", "py.test", "tox", "nox", "behave", "nose2", "coverage":
		lang = "py"
	case "jest", "vitest", "mocha", "ava", "npx", "npm", "yarn", "pnpm", "bun", "tsx", "ts-node", "playwright":
		lang = "js ts mjs cjs tsx jsx"
	case "rspec", "rake", "bundle":
		lang = "rb"
	case "phpunit", "prove", "composer":
		lang = "php pl t"
	case "cargo", "rustc":
		lang = "rs"
	case "gcc", "g++", "cc", "c++", "clang", "clang++", "tcc", "zig":
		lang = "c cpp cc zig"
	case "java", "javac", "kotlinc", "kotlin":
		lang = "java kt kts"
	case "dotnet", "csc", "mcs", "swiftc", "nim", "crystal", "ghc", "runghc", "dmd", "v":
		lang = "cs swift nim cr hs d v"
	default:
		return
	}
	if in != nil && in.known && !in.file && slices.ContainsFunc(ws, func(w word) bool { return w.text == "-" || w.text == "/dev/stdin" }) {
		k.source(in.text, ws)
	}
	for _, file := range slices.Sorted(maps.Keys(k.s.files)) {
		src := k.s.files[file]
		dot := strings.LastIndexByte(file, '.')
		if dot < 0 || src == nil || !slices.Contains(strings.Fields(lang), strings.ToLower(file[dot+1:])) {
			continue
		}
		k.source(src.text, ws)
		for _, m := range generates.FindAllStringSubmatch(src.text, 20) {
			k.aside(func() { k.command(m[1], nil) })
		}
	}
}

// generates are the lines of Go that have go generate run something.
var generates = lazyregexp.New(`(?m)^\s*//go:generate\s+(.+)$`)

// source judges code of a language that is compiled.
func (k *analysis) source(text string, ws []word) {
	if len(text) > maxText {
		return
	}
	text = homeWords.ReplaceAllString(text, `"`+home+`"`)
	k.calls(text, ws)
	k.removedBy(text, ws)
	if !starts.MatchString(text) {
		return
	}
	var argv []word
	for _, m := range literal.FindAllStringSubmatch(text, 100) {
		argv = append(argv, homed(m[1]+m[2]+m[3]))
	}
	k.quiet++
	for i, w := range argv {
		if strings.Contains(w.text, " ") {
			k.aside(func() { k.evaluate([]word{w}, ws, nil) })
		} else if isRisky(base(w)) {
			k.aside(func() { k.program(argv[i:min(len(argv), i+12)], nil) })
		}
	}
	k.quiet--
}

// escapes judges the ways out to a shell that programs have in what they are told: a dot command
// of a database, an exclamation mark of an editor, an option whose value is a command.
func (k *analysis) escapes(name string, ws []word, in *source) {
	switch name {
	case "sqlite3", "sqlite", "duckdb", "gdb", "lldb", "ed", "ex", "vi", "vim", "nvim", "ftp", "sftp", "lftp", "telnet", "zip", "tar", "bsdtar", "gtar", "scp", "screen", "tmux", "gnuplot", "bc", "less", "dc", "mail", "mutt", "redis-cli", "mysql", "mariadb", "octave", "r":
	default:
		return
	}
	out := func(text string) {
		if m := wayOut.FindStringSubmatch(strings.TrimSpace(text)); m != nil && strings.TrimSpace(m[1]) != "" {
			k.certain(plain(m[1] + " "))
		}
	}
	for i, w := range ws[1:] {
		if strings.Contains(w.text, " ") && (strings.HasPrefix(ws[i].text, "-") || slices.Contains([]string{"stuff", "send-keys", "send"}, ws[i].text) || wayOut.MatchString(w.text)) {
			text := w.String()
			if m := wayOut.FindStringSubmatch(text); m != nil {
				text = m[1]
			}
			k.certain(plain(text + " "))
		}
	}
	if in != nil && !in.file {
		for line := range strings.Lines(in.text) {
			out(line)
		}
	}
}

var wayOut = lazyregexp.New(`(?is)^(?:\+?:?!|\.(?:system|shell)\s|shell\s|exec=|system\s|proxycommand=|localcommand=)\s*(.*)$`)

// initializes judges eval "$(rbenv init -)" and source <(kubectl completion bash): the shell runs
// what a program says of itself. Of a program of which there is nothing to know, that is no more
// than the program may do when it runs; of another its word for that has to stand there, and
// none of its words may be text of somebody else's.
func (k *analysis) initializes(c *syntax.CallExpr) bool {
	if len(c.Args) != 2 || len(c.Assigns) > 0 {
		return false
	}
	parts := c.Args[1].Parts
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok && !q.Dollar {
			parts = q.Parts
		}
	}
	if len(parts) != 1 {
		return false
	}
	var stmts []*syntax.Stmt
	switch p := parts[0].(type) {
	case *syntax.CmdSubst:
		if c.Args[0].Lit() != "eval" {
			return false
		}
		stmts = p.Stmts
	case *syntax.ProcSubst:
		if c.Args[0].Lit() != "source" && c.Args[0].Lit() != "." || p.Op != syntax.CmdIn {
			return false
		}
		stmts = p.Stmts
	}
	if len(stmts) != 1 || len(stmts[0].Redirs) > 0 || stmts[0].Negated || stmts[0].Background {
		return false
	}
	inner, ok := stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(inner.Assigns) > 0 || len(inner.Args) == 0 || len(inner.Args) > 8 {
		return false
	}
	name := inner.Args[0].Lit()
	if _, text := talk([]word{plain(name)}); name == "" || text || k.renamed(plain(name)) {
		return false
	}
	said := false
	for _, a := range inner.Args[1:] {
		lit := a.Lit()
		said = said || slices.Contains([]string{"completion", "completions", "complete", "shellenv", "hook", "init", "env", "activate", "shell-init", "shell.bash", "docker-env", "gen-completions"}, lit)
		if lit != "" && !plainWord.MatchString(lit) || lit == "" && !quotedVariable(a) {
			return false
		}
	}
	first := plain(name)
	short := base(first)
	switch {
	case isShell(short), interpreter.MatchString(short) || wraps(short) && !(said && slices.Contains([]string{"poetry", "uv", "pdm", "hatch", "conda", "micromamba", "mise", "direnv", "rtx", "asdf"}, short)):
		return false
	case slices.Contains(strings.Fields("curl wget git cat ssh env aws eval source base64 base32 basenc xxd openssl rev sed tac iconv uudecode envsubst gpg age dd strings recode hexdump od zcat gzip gunzip xz bzip2 zstd lz4 brotli uncompress"), short):
		return false // text of somebody else's, or made of it
	case said && localPrograms()[short] && short != "rustup" && short != "pip" && short != "fnm" && short != "volta":
		return false
	case !said && (isKnown(short) || len(k.s.files) > 0 || k.says([]word{first}, nil) != nil):
		return false
	}
	k.aside(func() { k.stmts(stmts, nil) })
	return true
}

var plainWord = lazyregexp.New(`^[-@=A-Za-z0-9_]*$|^v?[0-9.]+$`)

// quotedVariable reports whether a word is one variable in double quotes.
func quotedVariable(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	q, ok := w.Parts[0].(*syntax.DblQuoted)
	if !ok || len(q.Parts) != 1 {
		return false
	}
	p, ok := q.Parts[0].(*syntax.ParamExp)
	return ok && p.Exp == nil && !p.Excl && p.Index == nil
}

// takes judges programs that take files away on the way to something else, and those that give
// somebody elsewhere a shell.
func (k *analysis) takes(name string, ws []word, in *source) {
	_, operands := arguments0(ws, " -x -i -n -P -t ")
	switch name {
	case "zip", "7z", "7za":
		if name == "zip" && !given(ws[1:], "-m --move") || name != "zip" && !slices.ContainsFunc(ws, func(w word) bool { return w.text == "-sdel" }) {
			return
		}
		for _, w := range operands[min(1, len(operands)):] {
			k.touch(Delete, w, true, ws)
		}
	case "hdfs", "hadoop", "adb":
		if slices.ContainsFunc(ws, func(w word) bool { return slices.Contains(strings.Fields("-rm -rmr -rmdir -expunge"), w.text) }) && !local(ws) || name == "adb" && slices.ContainsFunc(ws, func(w word) bool { return w.text == "rm" }) && given(ws, "-r -R") {
			k.unknown("what it takes away may not come back", ws)
		}
	case "lftp":
		if slices.ContainsFunc(ws, func(w word) bool { return mirrors.MatchString(w.text) }) && !isLoopback(ws) {
			k.unknown("what it brings to others does not come back", ws)
		}
	case "crontab":
		if given(ws[1:], "-r") {
			k.unsure(Delete, "it takes all timers away", ws)
		}
	case "userdel", "deluser":
		if given(ws[1:], "-r --remove --remove-home --remove-all-files") {
			k.never(rmHome, ws)
		}
	case "pdsh", "pssh", "parallel-ssh", "clush", "salt", "knife":
		if len(operands) > 1 && !local(ws) && !slices.ContainsFunc(ws, func(w word) bool {
			return deployStaging.MatchString(w.text) || slices.Contains([]string{"test.ping", "show", "list", "search", "status"}, w.text)
		}) {
			k.unknown("what it changes may be in production", ws)
		}
	case "kafka-topics", "kafka-topics.sh":
		if given(ws[1:], "--delete") && !testNamed(ws[1:]) {
			k.never(dropDatabase, ws)
		}
	case "nc", "ncat", "netcat", "socat", "telnet":
		if in != nil && in.file && strings.HasPrefix(in.path, home) {
			k.unknown("it sends a file to another machine", ws)
		}
		if in != nil && flushes.MatchString(in.text) {
			k.never(dropDatabase, ws)
		}
		if slices.ContainsFunc(ws[1:], func(w word) bool {
			t := strings.ToLower(w.text)
			return t == "-e" || t == "-c" || strings.HasPrefix(t, "--exec") || strings.HasPrefix(t, "--sh-exec") || strings.HasPrefix(t, "exec:") || strings.HasPrefix(t, "system:")
		}) {
			k.unknown("a shell for somebody elsewhere", ws)
		}
	}
}

var flushes = lazyregexp.New(`(?i)\b(flush_?all|flushdb|shutdown)\b`)

var mirrors = lazyregexp.New(`\b(mirror\s+.*-R|put|mput|rm|mrm)\b`)

var rareLanguages = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for name := range strings.FieldsSeq("raku guile racket ocaml clojure bb janet crystal sbcl julia groovy scala kotlin swift runghc ghci escript erl gjs qjs wish tclsh octave m4") {
		out[name] = true
	}
	return out
})
