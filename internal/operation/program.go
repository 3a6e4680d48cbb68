package operation

import (
	"path"
	"slices"
	"strings"
)

// base is the name of the program that a word names, as it is known: without its folder,
// without .exe, without a version behind @.
func base(w word) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(strings.TrimPrefix(w.String(), "="), `\`, "/")))
	name, _, _ = strings.Cut(name, "@")
	for _, end := range []string{".exe", ".cmd", ".bat", ".com", ".ps1"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// simple looks at one simple command: its words, the variables before it, the files behind
// its redirections, and what it reads.
func (k *look) simple(ws, set, targets []word, in *source) {
	if len(ws) == 0 {
		k.match(set, targets)
		return
	}
	if len(ws) > mostWords {
		k.unknown("the command has too many words", ws[:20])
	}
	k.index(ws)
	ws, only := talk(ws)
	k.match(slices.Concat(set, ws), targets)
	if only {
		return
	}
	k.program(ws, in)
	if in != nil && in.text != "" {
		set = append(set[:len(set):len(set)], fields(in.text)...) // what deploys may read where to
		if name := base(ws[0]); slices.Contains([]string{"at", "batch", "crontab", "make", "gmake"}, name) {
			k.loose(in.text)
		}
		if base(ws[0]) == "tee" {
			for _, w := range ws[1:] {
				k.wrote(w, in)
			}
		}
	}
	k.deploy(base(ws[0]), ws, set)
	k.anywhere(ws)
}

// anywhere looks for what is certain in any word on: of a program that is not known, each
// argument may be a command.
func (k *look) anywhere(ws []word) {
	for i := 1; i < len(ws); i++ {
		if isShell(base(ws[i])) && slices.ContainsFunc(ws[i:], func(w word) bool { return strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "c") }) {
			k.program(ws[i:], nil)
			continue
		}
		k.quiet++
		k.program(ws[i:], nil)
		k.quiet--
		k.certain(ws[i])
		if _, value, ok := strings.Cut(ws[i].text, "="); ok {
			k.certain(word{value, ws[i].many})
		}
	}
}

// match holds the patterns against the text of a simple command (C-042).
func (k *look) match(ws, targets []word) {
	all := slices.Concat(ws, targets)
	if len(all) == 0 || k.quiet > 0 {
		return
	}
	text := joined(all)
	said := []string{text, plainSQL(text)}
	for i := range ws {
		if name := base(ws[i]); i < len(ws) && (name == "rm" || name == "git" || name == "push") {
			said = append(said, usual(name, ws[i:])...)
		}
	}
	for _, p := range k.patterns {
		if slices.ContainsFunc(said, p.re.MatchString) {
			k.add(Found{Rule: p.text, Text: cut(text), Words: texts(ws)})
		}
	}
}

// usual is how a command is usually written, whose options have several spellings.
func usual(name string, ws []word) []string {
	switch {
	case name == "rm" && recursive(ws) && option(ws, "f", "force"):
		return []string{"rm -rf"}
	case name == "git" && slices.ContainsFunc(ws, func(w word) bool { return w.text == "push" }) && forces(ws):
		return []string{"git push --force"}
	}
	return nil
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
		case strings.HasPrefix(text, "-") && strings.Contains(text, letter):
			return true
		}
	}
	return false
}

// shortened reports whether text is the beginning of a word, which programs take for it.
func shortened(text, whole string) bool { return text != "" && strings.HasPrefix(whole, text) }

func recursive(ws []word) bool { return option(ws, "r", "recursive") }

// talk returns a command without the words that are only text: what is said in a message,
// searched for or printed is no operation. It reports whether nothing else is left.
func talk(ws []word) ([]word, bool) {
	if hiddenName(ws[0]) {
		return ws, false
	}
	name := base(ws[0])
	switch name {
	case "echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "ack", "test", "[", "true", "false", ":", "read", "say", "cowsay", "man", "apropos", "tldr", "whatis", "banner", "logger", "notify-send":
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
