package approval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// reader is a command that only reads, as far as it is used in a known way.
type reader struct {
	// any: no option of it writes, or runs anything. Otherwise short are the letters
	// of its options that do not, and long the words.
	any   bool
	globs bool // takes any number of files: a pattern may stand for them
	short string
	long  []string
	// most operands, 0: any number. Of some commands the second is written to.
	most int
	args func(args []word) error // instead of all that
}

// readers are the commands that need nobody's word: reading, and changes
// inside the work tree. A command that can be told to run another one, to write a
// file or to talk to another machine is here only with the options that do not.
func readers() map[string]reader {
	all := map[string]reader{
		"sort": {short: "bcdfghiMnrRsuVzkt", long: []string{"reverse", "unique", "numeric-sort", "human-numeric-sort", "version-sort", "key", "field-separator"}},
		"uniq": {short: "cdDfisuwz", long: []string{"count", "repeated", "unique", "ignore-case"}, most: 1},
		"tree": {short: "adfiLIPshDFpugC", long: []string{"dirsfirst", "noreport", "prune", "gitignore", "charset"}},
		"file": {short: "bihLkprsz", long: []string{"brief", "mime", "mime-type", "mime-encoding"}},
		"rg": {short: "ABCcefFgHhiIjlmnNopqsStTuUvVwx0P", long: []string{
			"files", "hidden", "no-ignore", "glob", "iglob", "type", "type-not", "type-list", "count", "count-matches", "ignore-case", "smart-case",
			"fixed-strings", "files-with-matches", "files-without-match", "line-number", "no-line-number", "no-heading", "heading", "color", "context",
			"after-context", "before-context", "max-count", "max-depth", "multiline", "only-Matching", "invert-match", "word-regexp", "json", "stats",
			"sort", "with-filename", "no-filename", "regexp", "version", "column", "vimgrep", "no-messages", "trim", "pcre2",
		}},
		"find": {args: findReads}, "sed": {args: sedReads}, "git": {args: gitReads}, "date": {args: dateReads},
		"printf":  {short: ""},
		"command": {args: commandReads},
		"tail":    {globs: true, short: "cnqvzr", long: []string{"lines", "bytes", "quiet", "silent", "verbose"}}, // -f never ends
		"strings": {args: stringsReads, globs: true},
		"grep":    {args: grepReads, globs: true}, "egrep": {args: grepReads, globs: true}, "fgrep": {args: grepReads, globs: true},
		"wc": {args: namesOnly, globs: true}, "du": {args: namesOnly, globs: true},
	}
	for _, name := range []string{
		"ls", "cat", "head", "nl", "cut", "pwd", "echo", "true", "false", "test", "basename", "dirname", "stat", "df", "whoami",
		"id", "uname", "which", "type", "diff", "cmp", "comm", "realpath", "readlink", "sha256sum", "md5sum", "cksum", "tr",
		"paste", "column", "fold", "rev", "seq", "od",
	} {
		all[name] = reader{any: true}
	}
	return all
}

// reads judges a known command: its options, and that its files are in the work tree.
func (j *judge) reads(name string, r reader, args []word) error {
	options, operands := true, 0
	for i, a := range args {
		text := a.text()
		if a.globs() && !r.any && !r.globs {
			return fmt.Errorf("a pattern may turn into an option of %s", name)
		}
		switch {
		case options && text == "--":
			options = false
			continue
		case options && strings.HasPrefix(text, "-") && len(text) > 1:
			if err := j.option(name, r, text); err != nil {
				return err
			}
			continue
		}
		operands++
		if name == "echo" || name == "printf" || name == "sed" && i <= 1 || name == "date" || name == "seq" || name == "tr" {
			continue // words, no files
		}
		if err := j.readsFile(a); err != nil {
			return err
		}
	}
	if r.most > 0 && operands > r.most {
		return fmt.Errorf("%s writes to its second file", name)
	}
	if r.args != nil {
		return r.args(args)
	}
	return nil
}

// option judges one option. A file within it, as in --file=/x or -f../x, is judged too.
func (j *judge) option(name string, r reader, text string) error {
	key, value, given := strings.Cut(text, "=")
	if given && strings.HasPrefix(text, "--") {
		if err := j.file(value, false); err != nil {
			return err
		}
	} else if strings.ContainsAny(text, "/~") || strings.Contains(text, "..") {
		return fmt.Errorf("%s %s: a path within an option", name, text)
	}
	if r.any || r.args != nil {
		return nil
	}
	if long, ok := strings.CutPrefix(key, "--"); ok {
		if !slices.Contains(r.long, long) {
			return fmt.Errorf("%s %s is not known to read only", name, key)
		}
		return nil
	}
	for _, c := range text[1:] {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if letter && !strings.ContainsRune(r.short, c) {
			return fmt.Errorf("%s %s is not known to read only", name, text)
		}
	}
	return nil
}

// findReads: of find's words only those that select and print.
func findReads(args []word) error {
	known := []string{
		"-name", "-iname", "-path", "-ipath", "-type", "-maxdepth", "-mindepth", "-not", "-o", "-a", "-and", "-or", "-size", "-mtime", "-mmin",
		"-newer", "-print", "-print0", "-empty", "-prune", "-regex", "-iregex", "-perm",
	}
	for _, a := range args {
		if text := a.text(); strings.HasPrefix(text, "-") && !slices.Contains(known, text) {
			return fmt.Errorf("find %s is not known to read only", text)
		}
	}
	return nil
}

// sedPrints is the one use of sed that is known to read: lines by number.
var sedPrints = lazyregexp.New(`^[0-9]+(,([0-9]+|\$))?p$`)

func sedReads(args []word) error {
	if len(args) < 2 || args[0] != "-n" || !sedPrints.MatchString(args[1].text()) {
		return errors.New("sed may change files")
	}
	for _, a := range args[2:] {
		if strings.HasPrefix(string(a), "-") {
			return errors.New("sed may change files")
		}
	}
	return nil
}

func dateReads(args []word) error {
	for _, a := range args {
		if a != "-u" && !strings.HasPrefix(string(a), "+") {
			return errors.New("date may set the clock")
		}
	}
	return nil
}

func commandReads(args []word) error {
	if len(args) != 2 || args[0] != "-v" {
		return errors.New("command runs another one")
	}
	return nil
}

// grepReads: -R follows symbolic links, out of the work tree as well.
func grepReads(args []word) error {
	for _, a := range args {
		text := a.text()
		if text == "--" {
			break
		}
		if strings.HasPrefix(text, "--d") || !strings.HasPrefix(text, "--") && strings.HasPrefix(text, "-") && strings.ContainsRune(text, 'R') {
			return fmt.Errorf("grep %s follows links to elsewhere", text)
		}
	}
	return nil
}

// namesOnly: what they read is among their words, and in no list that is read.
func namesOnly(args []word) error {
	for _, a := range args {
		switch text := a.text(); {
		case strings.HasPrefix(text, "--f"), strings.HasPrefix(text, "--de"):
			return fmt.Errorf("%s reads names of files from elsewhere", text)
		case !strings.HasPrefix(text, "--") && strings.HasPrefix(text, "-") && strings.ContainsAny(text, "LX"):
			return fmt.Errorf("%s leads elsewhere", text)
		}
	}
	return nil
}

// stringsReads: @file is read as options, and what is none is told in an error.
func stringsReads(args []word) error {
	for _, a := range args {
		if strings.HasPrefix(string(a), "@") || strings.HasPrefix(string(a), "-") {
			return errors.New("strings may read options from a file")
		}
	}
	return nil
}

// gitReads: the words of git that show, without the options by which they write a
// file or run a program.
func gitReads(args []word) error {
	if len(args) > 0 && args[0] == "--no-pager" {
		args = args[1:]
	}
	if len(args) == 0 {
		return errors.New("git without a word")
	}
	verb, rest := args[0].text(), args[1:]
	var operands []string
	for _, a := range rest {
		text := a.text()
		switch {
		case text == "--oneline" || text == "--only-Matching":
		case strings.HasPrefix(text, "--o"), strings.HasPrefix(text, "--ext"), strings.HasPrefix(text, "--te"):
			return fmt.Errorf("git %s %s may write a file or run a program", verb, text)
		case strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && strings.ContainsRune(text, 'O'):
			return fmt.Errorf("git %s %s may run a program", verb, text)
		case !strings.HasPrefix(text, "-"):
			operands = append(operands, text)
		}
	}
	switch verb {
	case "status", "log", "diff", "show", "blame", "rev-parse", "ls-files", "ls-tree", "shortlog", "describe", "merge-base", "rev-list", "grep", "cat-file":
		return nil
	case "branch", "tag":
		for _, a := range rest {
			if !slices.Contains([]string{"-a", "-r", "-v", "-vv", "--list", "-l", "--all", "--show-current"}, a.text()) {
				return fmt.Errorf("git %s %s may change it", verb, a.text())
			}
		}
		return nil
	case "stash", "worktree":
		if len(operands) == 1 && rest[0] == "list" { // `git stash -m list` stashes
			return nil
		}
	case "remote":
		if len(rest) == 0 || len(rest) == 1 && rest[0] == "-v" {
			return nil
		}
	}
	return fmt.Errorf("git %s is not known to read only", verb)
}
