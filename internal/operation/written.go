package operation

import (
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

func hookPath(full string) bool {
	return strings.Contains(full, "/.git/hooks/") || strings.Contains(full, "/.husky/") && !strings.HasSuffix(full, "/_/husky.sh") || strings.Contains(full, "/.githooks/")
}

func gitConfigPath(full string) bool {
	return strings.HasSuffix(full, "/.git/config") || strings.HasSuffix(full, "/.gitconfig") || strings.HasSuffix(full, "/.config/git/config") || strings.HasSuffix(full, "/etc/gitconfig") || strings.HasSuffix(full, "/.git/config.worktree") || strings.HasSuffix(full, home+"/.gitconfig")
}

var configPush = lazyregexp.New(`(?im)^\s*(push\s*=\s*"?\+|mirror\s*=\s*(true|1|yes|on)\b|mirror\s*$)`)

var configRuns = lazyregexp.New(`(?im)^\s*\[?\s*(alias|include|includeif|url|credential|filter|diff|merge)\b|^\s*(push|pushurl|mirror|hookspath|sshcommand|fsmonitor|editor|pager|insteadof|pushinsteadof|askpass|textconv|process|clean|smudge|command|cmd|program|proxy|gpgprogram|receivepack|uploadpack|helper)\s*=`)

// loaded judges what is written into a file that a program runs, or obeys, by itself.
func (k *analysis) loaded(full string, src *source, ws []word) {
	name := full[strings.LastIndexByte(full, '/')+1:]
	switch {
	case hookPath(full):
		if !src.known {
			k.unknown("git runs what it puts there", ws)
			return
		}
		k.aside(func() { k.runText(src, ws) })
	case gitConfigPath(full):
		switch {
		case configPush.MatchString(src.text):
			k.never(pushForce, ws)
		case !src.known && !src.file:
			k.unsure(Run, "settings of git may make another command of the next", ws)
		case configRuns.MatchString(src.text):
			k.unknown("settings of git may make another command of the next", ws)
		}
	case slices.Contains([]string{".bashrc", ".profile", ".bash_profile", ".zshrc", ".zprofile", ".zshenv", ".envrc", ".bash_login", "crontab", "sudoers", ".inputrc", ".pre-commit-config.yaml"}, name), strings.Contains(full, "/cron.d/"), strings.Contains(full, "/cron.daily/"):
		if src.known {
			k.quiet++
			k.aside(func() { k.command(strings.TrimSpace(src.text), nil) })
			k.quiet--
		}
	}
}

// made judges programs that run what a file of the project says, where the command has written
// that file.
func (k *analysis) made(name string, ws []word, in *source) {
	files := map[string][]string{
		"make": {"makefile", "gnumakefile"}, "gmake": {"makefile", "gnumakefile"}, "just": {"justfile", ".justfile"}, "task": {"taskfile.yml", "taskfile.yaml"}, "go-task": {"taskfile.yml"},
		"npm": {"package.json"}, "yarn": {"package.json"}, "pnpm": {"package.json"}, "bun": {"package.json"}, "npx": {"package.json"}, "rake": {"rakefile"}, "ninja": {"build.ninja"},
		"docker": {"dockerfile"}, "cargo": {"build.rs", "config.toml"}, "pytest": {"conftest.py"}, "tox": {"tox.ini"}, "nox": {"noxfile.py"}, "gradle": {"build.gradle", "build.gradle.kts"}, "mvn": {"pom.xml"},
		"gulp": {"gulpfile.js"}, "grunt": {"gruntfile.js"}, "deno": {"deno.json"}, "composer": {"composer.json"}, "cmake": {"cmakelists.txt"}, "bazel": {"build", "build.bazel"}, "invoke": {"tasks.py"}, "fab": {"fabfile.py"},
		"go": {"main.go"}, "mage": {"magefile.go"}, "earthly": {"earthfile"}, "dagger": {"dagger.json"}, "act": {"ci.yml"}, "tsx": {"x.ts"}, "ts-node": {"x.ts"}, "lefthook": {"lefthook.yml"}, "pre-commit": {".pre-commit-config.yaml"}, "crontab": {"crontab"}, "vagrant": {"vagrantfile"}, "bundle": {"gemfile"},
	}
	if name == "make" || name == "gmake" || name == "just" {
		for i, w := range ws[1:] {
			if (w.text == "-f" || w.text == "--file" || w.text == "--makefile" || w.text == "--justfile") && i+2 < len(ws) {
				if t := ws[i+2].text; t == "-" || t == "/dev/stdin" {
					if in != nil {
						k.recipes(in, ws)
					}
				} else if src, ok := k.written(ws[i+2]); ok {
					k.recipes(src, ws)
				}
			}
			if (w.text == "-f-" || w.text == "--file=-") && in != nil {
				k.recipes(in, ws)
			}
			for _, o := range []string{"--eval="} {
				if v, ok := strings.CutPrefix(w.text, o); ok {
					k.recipes(&source{text: v, known: !strings.Contains(v, hole)}, ws)
				}
			}
			if key, v, ok := strings.Cut(w.text, "="); ok && (key == "SHELL" || key == ".SHELLFLAGS") {
				k.certain(plain(v + " "))
			}
		}
	}
	list, ok := files[name]
	if !ok || len(k.s.files) == 0 {
		return
	}
	for _, full := range slices.Sorted(maps.Keys(k.s.files)) {
		src := k.s.files[full]
		last := strings.ToLower(full[strings.LastIndexByte(full, '/')+1:])
		if slices.Contains(list, last) {
			k.recipes(src, ws)
		}
	}
}

var recipeLine = lazyregexp.New(`(?m)^(?:\t|\s{2,})[@+-]*(.+)$|^\S[^:=\n]*:[^;=\n]*;(.+)$`)

var makeVariable = lazyregexp.New(`\$\((\w+)\)`)

var quotedText = lazyregexp.New(`"((?:[^"\\]|\\.)*)"|'([^'\n]*)'`)

// recipes judges what a Makefile, or another file of that kind, has run: its lines that are
// commands, and its texts in quotes.
func (k *analysis) recipes(src *source, ws []word) {
	if src.file {
		return
	}
	if !src.known {
		k.unknown("it runs what it wrote itself", ws)
		return
	}
	text := makeVariable.ReplaceAllString(strings.ReplaceAll(src.text, "$$", "$"), "$${$1}")
	var lines []string
	for _, m := range recipeLine.FindAllStringSubmatch(text, 200) {
		lines = append(lines, m[1]+m[2])
	}
	for _, m := range quotedText.FindAllStringSubmatch(text, 400) {
		if m[1]+m[2] != "" && strings.Contains(m[1]+m[2], " ") {
			lines = append(lines, strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n").Replace(m[1]+m[2]))
		}
	}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && !strings.ContainsAny(key, "\t{\"") {
			lines = append(lines, strings.TrimSpace(value))
		}
		lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), "RUN "))
	}
	k.quiet++
	for _, line := range lines {
		if risky(line) {
			k.aside(func() { k.command(strings.TrimSpace(line), nil) })
		}
	}
	k.quiet--
}

// fetched notes what is brought from elsewhere into a file.
func (k *analysis) fetched(name string, ws []word, in *source) {
	over := &source{over: true}
	put := func(w word) {
		if w.text != "-" && w.text != "/dev/null" && w.text != "" {
			k.overwrite(w, ws, false)
			k.write(w, over, false, ws)
		}
	}
	switch name {
	case "curl", "wget", "aria2c", "http", "https", "xh", "axel", "fetch", "aws", "gsutil", "gh", "lwp-download", "ftp", "sftp":
		if name == "aws" || name == "gsutil" || name == "gh" {
			return
		}
		for i, w := range ws[1:] {
			text := w.text
			next := word{}
			if i+2 < len(ws) {
				next = ws[i+2]
			}
			switch {
			case text == "-o" || text == "--output" || name == "wget" && (text == "-O" || text == "--output-document") || name == "aria2c" && text == "--out":
				put(next)
			case strings.HasPrefix(text, "--output="), strings.HasPrefix(text, "--output-document="), strings.HasPrefix(text, "--out="):
				_, v, _ := strings.Cut(text, "=")
				put(word{v, w.many})
			case strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && len(text) > 2 && (strings.HasSuffix(text, "o") && name == "curl" || strings.HasSuffix(text, "O") && name == "wget"):
				put(next)
			case name == "curl" && strings.HasPrefix(text, "-o") && len(text) > 2:
				put(word{text[2:], w.many})
			case name == "wget" && strings.HasPrefix(text, "-O") && len(text) > 2:
				put(word{text[2:], w.many})
			}
		}
		remote := name != "curl" || slices.ContainsFunc(ws, func(w word) bool {
			return w.text == "--remote-name" || strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, "O")
		})
		for _, w := range ws[1:] {
			if remote && !strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "/") {
				last := w.text[strings.LastIndexByte(w.text, '/')+1:]
				last, _, _ = strings.Cut(last, "?")
				if last != "" && last != hole && strings.Contains(w.text, ":") {
					k.s.files[k.full(plain(last))] = over
				}
			}
		}
	case "at", "batch", "crontab":
		if in != nil {
			if in.known {
				k.aside(func() { k.command(strings.TrimSpace(in.text), nil) })
			}
			k.loose(in.text)
		}
	}
}
