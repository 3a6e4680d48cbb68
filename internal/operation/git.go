package operation

import (
	"slices"
	"strings"
)

// sub is where git's subcommand stands in its words, 0 for none.
func sub(ws []word) int {
	for i := 1; i < len(ws); i++ {
		text := ws[i].text
		switch {
		case slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source", "--exec-path"}, text) && text != "--exec-path":
			i++
		case !strings.HasPrefix(text, "-"):
			return i
		}
	}
	return 0
}

// subcommands are those of git and its usual company. Any other may be an alias.
func subcommands() []string {
	return strings.Fields(`add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap
		check-ref-format checkout checkout-index cherry cherry-pick citool clean clone column commit commit-graph commit-tree config
		count-objects credential describe diagnose diff diff-files diff-index diff-pairs diff-tree difftool fast-export fast-import fetch
		fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck fsmonitor--daemon gc get-tar-commit-id grep gui
		hash-object help history hook index-pack init init-db instaweb interpret-trailers last-modified log ls-files ls-remote ls-tree mailinfo
		mailsplit maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes
		pack-objects pack-redundant pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase reflog refs remote repack
		replace replay repo request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack http-push shell shortlog show
		show-branch show-index show-ref sparse-checkout stash status stripspace submodule subtree switch symbolic-ref tag unpack-file
		unpack-objects update-index update-ref update-server-info upload-pack var verify-commit verify-pack verify-tag version whatchanged
		worktree write-tree lfs filter-repo annex crypt absorb`)
}

// git judges a command of git: push with any sign of force, and what may be an alias.
func (k *look) git(name string, ws []word) {
	if rest, ok := strings.CutPrefix(name, "git-"); ok {
		ws = append([]word{plain("git"), plain(rest)}, ws[1:]...)
	}
	at := sub(ws)
	k.gitSettings(ws[1:max(at, 1)], ws, at)
	if at == 0 {
		if slices.ContainsFunc(ws, word.any) {
			k.unknown("what git does is hidden in a variable or a substitution", ws)
		}
		return
	}
	for _, w := range ws[1:at] {
		if w.many {
			k.unknown("what git does is hidden in a variable or a substitution", ws)
			return
		}
	}
	what := strings.ToLower(ws[at].text)
	switch {
	case ws[at].holes() || ws[at].globs():
		k.unknown("what git does is hidden in a variable or a substitution", ws)
	case what == "push" || what == "send-pack" || what == "http-push":
		if forces(ws[at:]) {
			k.never(pushForce, ws)
		} else if slices.ContainsFunc(ws[at:], word.any) {
			k.unknown("what is pushed, or how, is hidden in a variable or a substitution", ws)
		}
	case what == "config":
		k.gitConfig(ws[at:], ws)
	case what == "remote" && slices.ContainsFunc(ws[at:], func(w word) bool { return strings.HasPrefix(w.text, "--mirror") && w.text != "--mirror=fetch" }):
		k.never(pushForce, ws)
	case what == "subtree" && slices.ContainsFunc(ws, func(w word) bool { return w.text == "push" }) && forces(ws[at:]):
		k.never(pushForce, ws)
	case !slices.Contains(subcommands(), what) && len(name) <= len("git-"):
		k.unknown("git "+what+" may be an alias for anything", ws)
	}
}

// gitSettings judges what -c says: an alias is a command.
func (k *look) gitSettings(options, ws []word, at int) {
	for i, w := range options {
		value := w.text
		switch {
		case strings.HasPrefix(value, "--config-env"):
			k.unknown("settings of git may make another command of this one", ws)
			continue
		case value == "-c" && i+1 < len(options):
			value = options[i+1].text
		case strings.HasPrefix(value, "-c") && len(value) > 2:
			value = value[2:]
		default:
			continue
		}
		key, value, _ := strings.Cut(value, "=")
		var rest []word
		if at > 0 {
			rest = ws[at+1:]
		}
		k.gitSetting(key, value, rest, ws)
	}
}

func (k *look) gitConfig(args, ws []word) {
	for i, w := range args {
		if i+1 < len(args) && strings.Contains(w.text, ".") {
			k.gitSetting(w.text, args[i+1].text, nil, ws)
		}
		if w.any() && i > 0 && i+1 < len(args) {
			k.unknown("which setting of git it changes is hidden", ws)
		}
	}
}

// gitSetting judges a setting that makes a command, or a push with force of a plain one.
func (k *look) gitSetting(key, value string, rest, ws []word) {
	key = strings.ToLower(key)
	switch {
	case strings.Contains(key, hole):
		k.unknown("which setting of git it changes is hidden", ws)
	case strings.HasPrefix(key, "alias."):
		if strings.Contains(value, hole) {
			k.unknown("an alias of git is hidden in a variable or a substitution", ws)
			return
		}
		if run, ok := strings.CutPrefix(strings.TrimSpace(value), "!"); ok {
			k.command(run + quotedRest(rest))
			return
		}
		if k.depth < mostDepth {
			k.depth++
			k.command("git " + value + quotedRest(rest))
			k.depth--
		}
	case strings.HasPrefix(key, "include"):
		k.unknown("settings of git may make another command of this one", ws)
	case strings.HasPrefix(key, "remote.") && (strings.HasSuffix(key, ".push") && (strings.HasPrefix(value, "+") || strings.Contains(value, hole)) ||
		strings.HasSuffix(key, ".mirror") && !slices.Contains([]string{"false", "0", "no", "off"}, strings.ToLower(value))):
		k.never(pushForce, ws)
	}
}

func quotedRest(rest []word) string {
	out := ""
	for _, w := range rest {
		if w.holes() {
			out += ` "$_"`
			continue
		}
		out += " '" + strings.ReplaceAll(w.String(), "'", `'\''`) + "'"
	}
	return out
}

// forces reports whether words of a push force it: by an option in any of its spellings,
// or by a + before what is pushed.
func forces(ws []word) bool {
	for _, w := range ws[1:] {
		text := strings.ToLower(w.text)
		long, isLong := strings.CutPrefix(text, "--")
		long, _, _ = strings.Cut(long, "=")
		switch {
		case isLong && (shortened(long, "force") || strings.HasPrefix(long, "force") || shortened(long, "mirror")):
			return true
		case isLong:
		case strings.HasPrefix(text, "-") && strings.Contains(text, "f"):
			return true
		case strings.HasPrefix(text, "+") && len(text) > 1:
			return true
		}
	}
	return false
}
