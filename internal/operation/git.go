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

// customary are names that people give to aliases that push nothing.
func customary() []string {
	return strings.Fields("co st ci br df di dc lg ll l lol lola hist last unstage amend tree graph root aliases who wip undo up fixup uncommit stat s d a b c sw sync-fork ca cm cp rb ri lc ls dt mt rv ft po? recent contributors today standup ignore cleanup changes staged outgoing incoming branches tags stashes remotes uncommitted")
}

// external are programs that git runs under its own name, and that push nothing by themselves.
func external() []string {
	return strings.Fields("flow svn p4 cvsimport cvsserver archimport quiltimport cola gui citool lfs-standalone-file crypt secret town extras machete absorb branchless delta filter-repo annex cliff cz interactive-rebase-tool credential-manager credential-cache credential-store secrets standup ignore-io changelog summary effort count alias info ls")
}

// git judges a command of git: what it pushes and how, what it removes and where, and what may
// be an alias.
func (k *analysis) git(name string, ws []word, in *source) {
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
	args := ws[at:]
	if ws[at].holes() || ws[at].globs() {
		k.unknown("what git does is hidden in a variable or a substitution", ws)
		return
	}
	switch what {
	case "push", "send-pack", "http-push":
		k.push(what, args, ws)
	case "config":
		k.gitConfig(args, ws)
	case "remote":
		if slices.ContainsFunc(args, func(w word) bool { return strings.HasPrefix(w.text, "--mirror") && w.text != "--mirror=fetch" }) {
			k.never(pushForce, ws)
		}
	case "subtree", "lfs", "annex", "stash", "notes", "worktree":
		if what == "subtree" && slices.ContainsFunc(ws, func(w word) bool { return w.text == "push" }) && forces(args) {
			k.never(pushForce, ws)
		}
	case "clean":
		k.clean(ws, at)
	case "rm":
		if given(args[1:], "-r") && !given(args[1:], "--cached -n") {
			dirs := k.gitDir(ws[1:at])
			if k.target(plain(".")) > unsure {
				dirs = append(dirs, plain("."))
			}
			for _, dir := range dirs {
				k.touch(Delete, dir, true, ws)
			}
		}
	case "grep":
		for i, w := range args {
			v, ok := strings.CutPrefix(w.text, "-O")
			if !ok {
				v, ok = strings.CutPrefix(w.text, "--open-files-in-pager=")
			}
			if ok && v != "" && i > 0 {
				k.evaluate([]word{{v, w.many}}, ws, nil)
			}
		}
	case "checkout", "restore", "reset", "read-tree", "checkout-index":
	case "filter-branch", "rebase", "bisect", "submodule", "for-each-ref", "for-each-repo", "difftool", "mergetool":
		k.gitRuns(what, args, ws)
	case "clone", "fetch", "pull", "ls-remote", "archive", "fetch-pack", "upload-pack", "remote-ext":
		k.gitTransport(args, ws)
	case "credential", "credential-store", "fast-import", "update-index", "apply", "am":
	case "svn":
		if len(args) > 1 && args[1].text == "dcommit" {
			return
		}
	default:
		if !slices.Contains(subcommands(), what) && len(name) <= len("git-") {
			k.alias(what, args, ws)
		}
	}
}

// alias judges a subcommand that git does not have.
func (k *analysis) alias(what string, args, ws []word) {
	if k.own {
		k.unknown("git "+what+" may be an alias for anything", ws)
		return
	}
	if k.ground.Aliases != nil {
		if list := k.ground.Aliases(); list != nil {
			if value, ok := list[what]; ok && k.depth < maxDepth {
				k.gitSetting("alias."+what, value, args[1:], ws)
			}
			return // no alias, so that git has none either: another program, or an error
		}
	}
	if slices.Contains(customary(), what) || slices.Contains(external(), what) {
		if forces(args) && len(args) > 1 && what != "ci" && what != "co" && what != "br" {
			k.unknown("git "+what+" may be an alias for anything", ws)
		}
		return
	}
	k.unknown("git "+what+" may be an alias for anything", ws)
}

// gitDir are the folders that git is told to work in, nil for where the shell is.
func (k *analysis) gitDir(options []word) []word {
	var out []word
	for i, w := range options {
		if (w.text == "-C" || w.text == "--work-tree") && i+1 < len(options) {
			out = append(out, options[i+1])
		}
		if dir, ok := strings.CutPrefix(w.text, "--work-tree="); ok {
			out = append(out, word{dir, w.many})
		}
	}
	if tree, ok := k.s.vars["GIT_WORK_TREE"]; ok {
		out = append(out, tree...)
	}
	return out
}

// clean removes what git does not know: the whole of a home that is no repository, or in one.
func (k *analysis) clean(ws []word, at int) {
	args := ws[at:]
	if given(args[1:], "-n --dry-run") || !given(args[1:], "-f --force") {
		return
	}
	dirs := k.gitDir(ws[1:at])
	if len(dirs) == 0 {
		dirs = []word{plain(".")}
	}
	_, operands := arguments0(args, " -e --exclude ")
	if len(operands) > 0 {
		dirs = operands
	}
	for _, dir := range dirs {
		if dir.text == hole {
			k.unsure(Delete, "where git removes files is hidden in a variable or a substitution", ws)
			continue
		}
		if p := k.target(dir); p == unsure && dir.text == "." {
			continue
		}
		k.touch(Delete, dir, true, ws)
	}
}

// gitRuns judges the commands that git runs for each commit, or each module.
func (k *analysis) gitRuns(what string, args, ws []word) {
	for i, w := range args {
		if i == 0 {
			continue
		}
		before := args[i-1].text
		switch {
		case what == "rebase" && (before == "-x" || before == "--exec"), what == "filter-branch" && strings.HasSuffix(before, "-filter"), (what == "difftool" || what == "mergetool") && (before == "-x" || before == "--extcmd"):
			k.evaluate([]word{w}, ws, nil)
		case strings.HasPrefix(w.text, "--exec=") || strings.HasPrefix(w.text, "--extcmd="):
			_, v, _ := strings.Cut(w.text, "=")
			k.evaluate([]word{{v, w.many}}, ws, nil)
		case what == "rebase" && strings.HasPrefix(w.text, "-x") && len(w.text) > 2:
			k.evaluate([]word{{w.text[2:], w.many}}, ws, nil)
		case what == "bisect" && before == "run":
			k.aside(func() { k.program(args[i:], nil) })
			return
		case what == "submodule" && before == "foreach", what == "submodule" && before == "--recursive":
			if strings.HasPrefix(w.text, "-") {
				continue
			}
			if i == len(args)-1 {
				k.evaluate([]word{w}, ws, nil)
			} else {
				k.aside(func() { k.program(args[i:], nil) })
			}
			return
		case what == "for-each-repo" && !strings.HasPrefix(w.text, "-"):
			k.git("git", append([]word{plain("git")}, args[i:]...), nil)
			return
		}
	}
}

// gitTransport judges addresses and options by which git runs a program.
func (k *analysis) gitTransport(args, ws []word) {
	for i, w := range args {
		if cmd, ok := strings.CutPrefix(w.text, "ext::"); ok {
			k.evaluate([]word{{strings.ReplaceAll(strings.ReplaceAll(cmd, "% ", " "), "%S", "git"), w.many}}, ws, nil)
			k.unknown("git runs a command for an address", ws)
		}
		if key, v, ok := strings.Cut(w.text, "="); ok && i > 0 && args[0].text == "clone" && (args[i-1].text == "-c" || args[i-1].text == "--config") {
			k.gitSetting(key, v, nil, ws)
		}
		for _, o := range []string{"--upload-pack", "-u", "--exec", "--receive-pack"} {
			if w.text == o && i+1 < len(args) && (o != "-u" || args[0].text != "pull" && args[0].text != "fetch") {
				k.evaluate([]word{args[i+1]}, ws, nil)
			} else if v, ok := strings.CutPrefix(w.text, o+"="); ok {
				k.evaluate([]word{{v, w.many}}, ws, nil)
			}
		}
	}
}

// push judges a push: by force, of a reference that is taken away, to what is in production.
func (k *analysis) push(what string, args, ws []word) {
	k.gitTransport(args, ws)
	if dryRun(args) || given(args[1:], "-n") && slices.ContainsFunc(args, func(w word) bool { return w.text == "-n" }) {
		return
	}
	if k.s.freed && !k.own {
		k.unknown("the push goes past ralph's gate, without the environment of the turn", ws)
		return
	}
	k.does(Effect{Verb: Push, Target: cut(joined(args[1:])), Certain: true})
	if forces(args) || removes(args) {
		k.never(pushForce, ws)
		return
	}
	_, operands := arguments0(args, " -o --push-option --repo --receive-pack --exec ")
	for i, w := range operands {
		switch {
		case w.many && named(w) && !strings.ContainsAny(w.text[:1], "+-:"): // v$VERSION
			continue
		case w.many && w.text == hole && i == 0 && len(operands) == 1, w.many, strings.HasPrefix(w.text, hole) && w.any() && i > 0 && !named(w):
			if quotedRef(w) && !w.many {
				continue
			}
			k.unknown("what is pushed, or how, is hidden in a variable or a substitution", ws)
			return
		}
	}
	if slices.ContainsFunc(args[1:], func(w word) bool { return w.many && !named(w) }) {
		k.unknown("what is pushed, or how, is hidden in a variable or a substitution", ws)
		return
	}
	if len(operands) > 0 && what == "push" {
		remote := operands[0]
		for _, o := range args {
			if v, ok := strings.CutPrefix(o.text, "--repo="); ok {
				remote = plain(v)
			}
		}
		if liveRemote(remote) {
			k.never(productionDeploy, ws)
		}
	}
}

// named reports whether a word with a hole begins with what is known.
func named(w word) bool { return !strings.HasPrefix(w.text, hole) }

// quotedRef reports whether a word is one variable, or several with text between: a branch, by
// all that people do. A + in it would be a push by force: ralph's own gate sees to those.
func quotedRef(w word) bool { return w.holes() && !w.many }

// liveRemote reports whether what is pushed to a remote runs there.
func liveRemote(w word) bool {
	text := w.lower()
	if slices.Contains([]string{"heroku", "dokku", "live", "gigalixir", "piku", "prod", "production", "clever", "scalingo", "deploy"}, text) {
		return true
	}
	return deploysTo(plain(strings.NewReplacer("/", " ", ".", " ", "@", " ", ":", " ").Replace(text))) && !strings.Contains(text, "github.com") && !strings.Contains(text, "gitlab.com") || strings.HasPrefix(text, "heroku-") || strings.Contains(text, "git.heroku.com") || strings.Contains(text, "dokku@")
}

// removes reports whether words of a push take a reference away.
func removes(ws []word) bool {
	for _, w := range ws[1:] {
		text := w.text
		long, isLong := strings.CutPrefix(text, "--")
		switch {
		case isLong && len(long) > 1 && (shortened(long, "delete") && len(long) > 1 || shortened(long, "prune") && len(long) > 1):
			return true
		case isLong:
		case strings.HasPrefix(text, "-") && strings.Contains(text, "d") && !strings.HasPrefix(text, "-o"):
			return true
		case strings.HasPrefix(text, ":") && len(text) > 1:
			return true
		}
	}
	return false
}

// gitSettings judges what -c says: an alias is a command.
func (k *analysis) gitSettings(options, ws []word, at int) {
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
		if strings.EqualFold(key, "core.hookspath") && at > 0 && slices.Contains([]string{"push", "send-pack"}, ws[at].text) {
			k.unknown("the push goes past its hooks", ws)
		}
		k.gitSetting(key, value, rest, ws)
	}
}

func (k *analysis) gitConfig(args, ws []word) {
	if slices.ContainsFunc(args, func(w word) bool {
		return slices.Contains([]string{"--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list", "--unset", "unset", "--unset-all", "--remove-section", "--get-urlmatch"}, w.text)
	}) {
		return
	}
	for i, w := range args {
		if i+1 < len(args) && strings.Contains(w.text, ".") && !strings.HasPrefix(w.text, "-") {
			k.gitSetting(w.text, args[i+1].text, nil, ws)
			return
		}
		if w.any() && i > 0 && i+1 < len(args) && !strings.HasPrefix(args[i-1].text, "-") {
			k.unknown("which setting of git it changes is hidden", ws)
		}
	}
}

// gitSetting judges a setting that makes a command, or a push with force of a plain one.
func (k *analysis) gitSetting(key, value string, rest, ws []word) {
	key = strings.ToLower(key)
	runs := []string{"core.sshcommand", "core.fsmonitor", "core.editor", "core.pager", "sequence.editor", "core.askpass", "diff.external", "gpg.program", "core.gitproxy", "ssh.variant", "uploadpack.packobjectshook"}
	switch {
	case strings.HasPrefix(key, hole):
		k.unknown("which setting of git it changes is hidden", ws)
	case strings.HasPrefix(key, "alias."):
		if strings.Contains(value, hole) {
			k.unknown("an alias of git is hidden in a variable or a substitution", ws)
			return
		}
		if run, ok := strings.CutPrefix(strings.TrimSpace(value), "!"); ok {
			k.aside(func() { k.command(run+quotedRest(rest), nil) })
			return
		}
		if k.depth < maxDepth {
			k.depth++
			k.aside(func() { k.command("git "+value+quotedRest(rest), nil) })
			k.depth--
		}
	case strings.HasPrefix(key, "include"):
		k.unknown("settings of git may make another command of this one", ws)
	case strings.HasPrefix(key, "remote.") && (strings.HasSuffix(key, ".push") && (strings.HasPrefix(value, "+") || strings.HasPrefix(value, ":") && len(value) > 1 || strings.Contains(value, hole)) ||
		strings.HasSuffix(key, ".mirror") && !slices.Contains([]string{"false", "0", "no", "off"}, strings.ToLower(value))):
		k.never(pushForce, ws)
	case slices.Contains(runs, key) || strings.HasPrefix(key, "filter.") || strings.HasPrefix(key, "difftool.") || strings.HasPrefix(key, "mergetool.") || strings.HasPrefix(key, "browser.") || strings.HasPrefix(key, "pager."):
		if !strings.Contains(value, hole) && strings.ContainsAny(value, " ;|&") {
			k.certain(plain(strings.TrimPrefix(value, "!")))
		}
	case strings.HasPrefix(key, "credential.") && strings.HasPrefix(strings.TrimSpace(value), "!"):
		k.aside(func() { k.command(strings.TrimPrefix(strings.TrimSpace(value), "!"), nil) })
	}
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
