package approval_test

import (
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/lookup"
)

func command(text string) ralph.Request {
	return ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Command: text}
}

// shown is a request that the agent would not make by itself.
func shown(q ralph.Request) ralph.Request {
	q.Shown = true
	return q
}

func files(op ralph.Operation, paths ...string) ralph.Request {
	return ralph.Request{Kind: ralph.RequestApproval, Op: op, Paths: paths}
}

// links is a work tree with symbolic links.
func links(path string) string {
	for from, to := range map[string]string{"/w/out": "/etc", "/w/in": "/w/sub/deep"} {
		if rest, ok := strings.CutPrefix(path, from); ok && (rest == "" || rest[0] == '/') {
			path = to + rest
		}
	}
	return clean(path)
}

// names is what is in the folders of that work tree.
func names(dir string) []string {
	return map[string][]string{
		"/w": {".git", ".env", "a.go", "out", "in", "src", "sub", "cfg", "ralph"}, "/w/src": {"a.go", "b.go"}, "/w/sub": {"a", ".git", "deep"},
		"/w/cfg": {"ok.yml"}, "/w/odd": {"-R", "x"}, "/w/bare": {"HEAD", "config", "objects", "refs", "x"},
	}[dir]
}

func clean(path string) string {
	var parts []string
	for p := range strings.SplitSeq(path, "/") {
		switch p {
		case "", ".":
		case "..":
			parts = parts[:max(0, len(parts)-1)]
		default:
			parts = append(parts, p)
		}
	}
	return "/" + strings.Join(parts, "/")
}

// E-077, E-104, X-78: what reads passes, and what changes files inside; all else is for a person.
func TestClearCommands(t *testing.T) {
	t.Parallel()
	passes := []string{
		"ls", "ls -la", "ls -la src docs", "ls *.go", "cat README.md", "cat 'a file'", `cat "a file"`, "pwd", "cat in/file", "cat ./a/b",
		"head -n 20 a.go", "head -20 a.go", "tail -n +5 a.go", "wc -l a b", "grep -rn 'func main' src", `grep -E "a|b" x`, "rg -n --hidden foo src",
		"ls && cat a", "ls; pwd", "cat a | grep b | sort -u | head -5", "(ls; pwd)", "{ ls; }", "! grep -q x y", "ls || true",
		"sort -k2,2 -n a", "uniq -c a", "find . -name '*.go' -type f", "find src -maxdepth 2", "sed -n '1,50p' a.go", "sed -n 7p a", "date +%F",
		"git status", "git status --short", "git log --oneline -5", "git diff HEAD~1..HEAD -- src", "git show HEAD:a.go", "git --no-pager diff", "git branch -a",
		"git stash list", "git remote -v", "git grep -n foo", "git log --format='%h %s' --since='2 weeks ago'", "git rev-parse --show-toplevel",
		"ls 2>/dev/null", "ls 2>&1", "cat a > b.txt", "echo hi >> notes/x.md", "cat < a", "ls &> /dev/null", "cat <<'EOF' > b.go\nfunc f() { $x }\nEOF",
		"cd src && ls", "cd src && cat a", "cd sub; ls", "bash -lc 'ls -la'", "/bin/bash -lc 'cat a && ls'", "sh -c ls", "zsh -l -c pwd",
		"CI=1 ls", "NO_COLOR=1 git diff", "command -v go", "which go", "echo rm -rf /", "echo 'curl x | sh'", "grep rm a", "cat <<< hi", "test -f a && cat a",
		"cat ralph/progress.md", "cat ralph/config.yaml", "ls # curl x", "ls \\\n  -la",
		"cat src/*.go", "cat s*/a.go", "wc -l src/*.go", "grep -n foo src/*.go", "tail -5 a", "git stash list", "git worktree list --porcelain", "cd src && cat *.go",
		"rm a", "rm -rf src", "rm -f a.go src/b.go", "ls; rm a", "cd src && rm a.go", "rm -rf sub/deep", "rm -rf src/*", "r''m a", "rm -- a",
		"ralph signal COMPLETE", `ralph signal BLOCKED "no key"`, "cd src && git status", "cd bare && ls", "cat c[f]g/*", "ls sub/?", "tail -3 src/*.go", "cat odd/*",
	}
	holds := []string{
		"curl https://example.com", "wget x", "rm", "rm -rf .", "rm -rf /w", "rm -rf *", "rm -rf .git", "rm -rf ralph", "rm a/../../x", "rm out/passwd", "rm -rf $X", "rm -rf /", "sudo ls", "mv a b", "cp a b", "touch a", "chmod +x a", "make", "go test ./...", "npm test",
		"python3 -c 'x'", "node x.js", "./run.sh", "/usr/bin/ls", "bash x.sh", "sh", "bash -c 'curl x'", "bash -lc 'bash -lc ls'", "eval ls", "exec ls", "env ls", "xargs rm",
		"ralph", "ralph approve g-1", "./ralph signal COMPLETE", "ralph signal BLOCKED $(rm a)", "time ls", "nohup ls", "ls | sh", "echo rm | bash", "cat a | xargs rm", "awk '{system(\"x\")}' a", "perl -e x", "ssh h ls", "nc -l 1", "kill 1",
		"ls; mv a b", "ls && mv a b", "ls || mv a b", "ls | tee a", "ls & rm a", "ls &", "(ls; mv a b)", "{ mv a b; }", "ls\nmv a b", "! mv a b",
		"ls $(rm a)", "ls `rm a`", `echo "$(rm a)"`, "cat <(rm a)", "ls > >(rm a)", "$X", "ls $X", `ls "$HOME"`, "${X:-rm} a", "l\\s", "$'rm' a", `$"rm" a`, "m''v a b",
		"X=1", "PATH=. ls", "LD_PRELOAD=./x.so ls", "GIT_PAGER=x git log", "GIT_EXTERNAL_DIFF=./x git diff", "CI=$(rm a) ls", "export PATH=.", "alias ls=rm",
		"ls() { rm a; }; ls", "if true; then ls; fi", "for i in a; do ls; done", "while true; do ls; done", "case a in a) ls;; esac", "[[ -f a ]]", "(( 1 ))", "let x=1",
		"declare x=1", "function f { ls; }", "coproc ls", "trap ls EXIT", "source a", ". a", "set -x", "cd", "cd -", "cd ..", "cd /", "cd out && ls", "cd $X && ls", "cd in && cat ../../../../etc/passwd", "cd src && cat ../src/a",
		"cat /etc/passwd", "cat ../x", "cat a/../../x", "cat out/passwd", "cat ~/.ssh/id_rsa", "cat {/etc/passwd,a}", "ls /", "ls ..", "grep -f/etc/passwd a", "grep --file=/etc/passwd a", "grep --file=../x a", "cat =ls",
		"cat .git/config", "cat sub/.git/config", "cat .GIT/config",
		"ls > /etc/x", "ls > ../x", "ls > ~/x", "ls > out/x", "ls > .git/hooks/pre-commit", "ls > ralph/hooks/post-x", "ls > ralph/config.yaml", "ls >> .claude/settings.json", "ls > $X", "ls >& out/x", "ls > *",
		"cat < /etc/passwd", "cat <> a", "cat <<EOF\n$(rm a)\nEOF", "cat <<EOF\n`rm a`\nEOF", "bash <<'EOF'\nrm a\nEOF", "ls {fd}>/etc/x", "ls > /dev/tcp/h/80", "ls 2>/dev/sda",
		"sort -o a b", "sort --output=a b", "sort --outp=a b", "sort -no a b", "sort --compress-program=rm a", "sort -T /tmp a", "sort *", "uniq a b", "uniq *", "tree -o a", "file -C -m a",
		"find . -delete", "find . -exec rm {} +", "find . -execdir rm {} +", "find . -ok rm", "find . -fprint a", "find *", "find . -fls a", "find / -name x",
		"sed -i s/a/b/ x", "sed -n '1w a' x", "sed -n '1e rm' x", "sed s/a/b/e x", "sed -n 1p -i x", "sed p x", "rg --pre rm x", "rg --pre=./x y", "rg --hostname-bin=x y", "date -s 1", "printf -v PATH x",
		"git push", "git commit -m x", "git checkout .", "git reset --hard", "git -C /x status", "git -c core.pager=x log", "git log --output=x", "git diff --outp=x", "git diff --ext-diff", "git grep -Oless x",
		"git grep --open-files-in-pager=rm x", "git grep -nOrm x", "git branch x", "git branch -D x", "git tag x", "git stash", "git stash drop", "git remote add a b", "git config a b", "git fetch", "git st", "git show --textconv", "git diff --no-index /etc/passwd a",
		// What a pattern matches is judged: a link out of the tree, git's own.
		"cat o*/passwd", "cat o*", "cat ?ut/passwd", "cat *", "ls *", "cat .g*/config", "cat .gi?/config", "cat .[g]it/config", "cat .*", "cat sub/.g*/x", "cat */x", "cd odd && grep x *", "cat **/x", "cat ../*", "cat /etc/*", "cat /e*/passwd", "cat 'o'*",
		"cat src/*/../../x", "wc -l o*", "grep x o*", "cd sub && cat ../o*", "cd src && cat /w/o*",
		// What stays in a folder of the person's for a next command.
		"cd ralph", "cd ralph/hooks", "cd ./ralph", "cd .claude && ls", "(cd Ralph)",
		"cd bare && git status", "cd bare; git log", "cd bare/x && git diff", "git status && cd bare && git status", "git stash -m list", "git stash -u list", "git stash -mlist", "git stash push list", "git worktree -x list",
		"strings @/etc/passwd", "strings @a", "echo /etc | du --files0-from=-", "wc --files0-from=-", "wc --f=-", "du -L .", "grep -R x .", "grep -nR x", "grep --dereference-recursive x .", "rg -L x", "rg --follow x",
		"tail -f a", "tail -F a", "tail --follow a", "tail --f a", "tail -5f a",
		"ls *(e:'rm a':)", "ls @(a|b)", "", "   ", "# nothing", "ls '", "ls )", "command ls", "command -p rm", "tr a b > /x", strings.Repeat("ls;", 10000), "ls\x00rm",
	}
	g := lookup.Disk{Work: "/w", Real: links, Names: names}
	for _, text := range passes {
		if w := judge(command(text), approval.Settings{Approvals: "policy"}, g, nil); w.Verdict != ralph.Approved || w.Rule != "gate.approvals: policy" {
			t.Errorf("%q is held: %s", text, w.Rule)
		}
	}
	for _, text := range holds {
		if w := judge(command(text), approval.Settings{Approvals: "policy"}, g, nil); w.Verdict != "" || w.Rule == "" {
			t.Errorf("%.80q passes: %s %s", text, w.Verdict, w.Rule)
		}
	}
}

// E-077: paths inside the work tree pass, outside not; links are followed; what runs
// by itself or is git's is for a person.
func TestClearFiles(t *testing.T) {
	t.Parallel()
	g := lookup.Disk{Work: "/w", Real: links, Names: names}
	for _, tt := range []struct {
		q      ralph.Request
		passes bool
	}{
		{files(ralph.OpEdit, "a.go"), true},
		{files(ralph.OpEdit, "a.go", "/w/b/c.go"), true},
		{files(ralph.OpEdit, "in/x"), true},
		{files(ralph.OpEdit, "ralph/progress.md"), true},
		{files(ralph.OpEdit, ".gitignore"), true},
		{files(ralph.OpRead, "ralph/config.yaml"), true},
		{files(ralph.OpEdit), false},
		{files(ralph.OpEdit, "a.go", "/etc/passwd"), false},
		{files(ralph.OpEdit, "/wx/a"), false},
		{files(ralph.OpEdit, "../w2/a"), false},
		{files(ralph.OpEdit, "out/passwd"), false},
		{files(ralph.OpEdit, "x/../../a"), false},
		{files(ralph.OpEdit, ".git/config"), false},
		{files(ralph.OpEdit, "sub/.Git/hooks/x"), false},
		{files(ralph.OpRead, ".git/config"), false},
		{files(ralph.OpEdit, "ralph/.state/journal.jsonl"), false},
		{files(ralph.OpEdit, "ralph/hooks/post-x"), false},
		{files(ralph.OpEdit, "Ralph/hooks/post-x"), false},
		{files(ralph.OpEdit, "ralph/config.yaml"), false},
		{files(ralph.OpEdit, ".claude/settings.json"), false},
		{files(ralph.OpEdit, ".mcp.json"), false},
		{files(ralph.OpEdit, ".g\u200cit/config"), false},
		{files(ralph.OpEdit, ".v\u017fcode/tasks.json"), false},
		{files(ralph.OpEdit, "opencode.json"), false},
		{files(ralph.OpEdit, ".cursor/mcp.json"), false},
		{files(ralph.OpEdit, "a\x00b"), false},
		{ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpEdit, Dir: "/etc", Paths: []string{"x"}}, false},
		{ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Dir: "/etc", Command: "ls"}, false},
		{ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Dir: "/w/out", Command: "ls"}, false},
		{ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Dir: "sub", Command: "ls"}, true},
		{ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Dir: "/w/sub/deep", Command: "git status"}, true},
		{ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Dir: "/w/bare", Command: "git status"}, false},
		{ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Dir: "/w/bare/x", Command: "git status"}, false},
		{ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpTool, Tool: "fetch"}, false},
		{ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpPermissions}, false},
		{ralph.Request{Kind: ralph.RequestApproval}, false},
		{ralph.Request{Kind: ralph.RequestQuestion, Text: "?"}, false},
	} {
		if w := judge(tt.q, approval.Settings{Approvals: "policy"}, g, nil); (w.Verdict == ralph.Approved) != tt.passes {
			t.Errorf("%+v: %q %s", tt.q, w.Verdict, w.Rule)
		}
	}
}

// gate.approvals and gate.allow: ask holds all, never lets all pass but questions;
// gate.allow lists commands word by word, tools by name, and folders (E-076, E-079).
func TestClearSettings(t *testing.T) {
	t.Parallel()
	allow := []string{"go test", "make", "fetch", "/opt/out"}
	for _, tt := range []struct {
		name string
		c    approval.Settings
		q    ralph.Request
		want string
	}{
		{"ask", approval.Settings{Approvals: "ask", Allow: allow}, command("ls"), ""},
		{"Gemini names its command in a title alone", approval.Settings{Approvals: "policy", Allow: []string{"", "ls", "make"}}, ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Text: "ls", Tool: "make"}, ""},
		{"ask, what the agent would do by itself", approval.Settings{Approvals: "ask"}, shown(command("ls")), "the agent's own rules"},
		{"ask, a change in its folder", approval.Settings{Approvals: "ask"}, shown(files(ralph.OpEdit, "a.go")), "the agent's own rules"},
		{"ask, what its settings may allow", approval.Settings{Approvals: "ask", Allow: allow}, shown(command("make")), ""},
		{"ask, a change elsewhere", approval.Settings{Approvals: "ask"}, shown(files(ralph.OpEdit, "/etc/x")), ""},
		{"nothing set", approval.Settings{}, command("ls"), ""},
		{"never", approval.Settings{Approvals: "never"}, command("rm -rf x"), "gate.approvals: never"},
		{"never, a question", approval.Settings{Approvals: "never"}, ralph.Request{Kind: ralph.RequestQuestion}, ""},
		{"allowed words", approval.Settings{Approvals: "policy", Allow: allow}, command("go test ./... -run X"), "gate.allow: go test"},
		{"allowed in a list", approval.Settings{Approvals: "policy", Allow: allow}, command("ls && make dist | head"), "gate.allow: make"},
		{"other words", approval.Settings{Approvals: "policy", Allow: allow}, command("go run ."), ""},
		{"a part of a word", approval.Settings{Approvals: "policy", Allow: allow}, command("maker"), ""},
		{"allowed beside another", approval.Settings{Approvals: "policy", Allow: allow}, command("make && mv a b"), ""},
		{"allowed with what hides", approval.Settings{Approvals: "policy", Allow: allow}, command("make $(rm a)"), ""},
		{"allowed with a variable", approval.Settings{Approvals: "policy", Allow: allow}, command("PATH=. make"), ""},
		{"allowed, written outside", approval.Settings{Approvals: "policy", Allow: allow}, command("make > /etc/x"), ""},
		{"allowed, written to the folder", approval.Settings{Approvals: "policy", Allow: allow}, command("make > /opt/out/x"), "gate.allow: /opt/out, make"},
		{"a tool", approval.Settings{Approvals: "policy", Allow: allow}, ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpTool, Tool: "fetch"}, "gate.allow: fetch"},
		{"a folder", approval.Settings{Approvals: "policy", Allow: allow}, files(ralph.OpEdit, "/opt/out/a"), "gate.allow: /opt/out"},
		{"beside the folder", approval.Settings{Approvals: "policy", Allow: allow}, files(ralph.OpEdit, "/opt/outer/a"), ""},
		{"git's word in the folder", approval.Settings{Approvals: "policy", Allow: allow}, command("cd /opt/out && git status"), ""},
		{"git in the folder", approval.Settings{Approvals: "policy", Allow: allow}, files(ralph.OpEdit, "/opt/out/.git/config"), ""},
		{"an empty entry", approval.Settings{Approvals: "policy", Allow: []string{"", " "}}, command("mv a b"), ""},
	} {
		w := judge(tt.q, tt.c, lookup.Disk{Work: "/w"}, nil)
		if (w.Verdict == ralph.Approved) != (tt.want != "") || tt.want != "" && w.Rule != tt.want {
			t.Errorf("%s: %q %q, want %q", tt.name, w.Verdict, w.Rule, tt.want)
		}
	}
}

// FuzzClear: whatever the text, no program that is not known to read passes, and
// nothing that the shell puts in by itself.
func FuzzClear(f *testing.F) {
	for _, s := range []string{
		"ls", "cat a | grep b", "cd a && ls", "bash -lc 'ls'", "curl x", "ls; mv a b", "ls $(rm a)", "echo \"$(sudo x)\"", "cat <<EOF\n`rm`\nEOF", "CI=1 ls > a",
		"m\\v a b", "'mv' a b", "\"mv\" a b", "m\"v\" a b", "ls\nmv", "ls &", "git -c a=b log", "sed -n 1p a", "cat <<'E'\nrm\nE",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w := judge(command(text), approval.Settings{Approvals: "policy"}, lookup.Disk{Work: "/w", Real: links}, nil)
		if w.Verdict == ralph.Approved {
			onlyReads(t, text, text)
		}
	})
}

// onlyReads walks over a command by other means than policy does.
func onlyReads(t *testing.T, whole, text string) {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		t.Fatalf("%q passes and cannot be read", whole)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ParamExp, *syntax.ArithmExp, *syntax.FuncDecl, *syntax.ExtGlob:
			t.Fatalf("%q passes with a %T", whole, n)
		case *syntax.CallExpr:
			var words []string
			for _, w := range n.Args {
				words = append(words, plain(w))
			}
			switch {
			case strings.HasSuffix(words[0], "sh"):
				onlyReads(t, whole, words[len(words)-1])
			case slices.Contains(strings.Fields("curl wget mv cp sudo dd tee eval exec env xargs python perl node ssh nc chmod chown kill"), words[0]):
				t.Fatalf("%q passes and runs %s", whole, words[0])
			}
		}
		return true
	})
}

// plain is a word without its quotes.
func plain(w *syntax.Word) string {
	var b strings.Builder
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(n.Value, "\\", ""))
		case *syntax.SglQuoted:
			b.WriteString(n.Value)
		}
		return true
	})
	return b.String()
}

// judge is the word on a request, with all that it asks for looked up on disk.
func judge(q ralph.Request, c approval.Settings, disk lookup.Disk, rules []*ralph.AnswerRule) approval.Ruling {
	word, _ := disk.Clear(q, c, rules)
	return word
}
