package operation

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// fileSpec says which operands of a program are files that it changes, and how.
type fileSpec struct {
	verb   Verb
	valued string // options that take a value, with blanks around each
	which  int    // see the constants
	deep   string // it goes through folders: always, never (""), or with these options
	needs  string // it changes files only with one of these options
}

const (
	allOperands = iota
	lastOperand
	butLast
	butFirst
)

// fileTools are the programs that delete, overwrite, move or close files.
func fileTools(name string) (fileSpec, bool) {
	switch name {
	case "rm", "grm", "srm":
		return fileSpec{verb: Delete, deep: "-r -R --recursive"}, true
	case "rimraf", "trash", "trash-put", "del-cli", "rmtrash", "safe-rm", "rip":
		return fileSpec{verb: Delete, deep: "always"}, true
	case "remove-item", "ri", "rd", "erase", "deltree":
		return fileSpec{verb: Delete, deep: "always"}, true
	case "unlink":
		return fileSpec{verb: Delete}, true
	case "rmdir", "del":
		return fileSpec{verb: Delete, needs: "/s /S", deep: "always"}, true
	case "shred", "wipe", "scrub", "gshred", "sfill":
		return fileSpec{verb: Overwrite, valued: " -n -s --iterations --size --random-source ", deep: "-r -R"}, true
	case "truncate", "gtruncate", "fallocate":
		return fileSpec{verb: Overwrite, valued: " -s --size -r --reference -l -o --length --offset "}, true
	case "rename", "prename", "perl-rename", "file-rename":
		return fileSpec{verb: Move, which: butFirst, deep: "always"}, true
	case "mv", "gmv":
		return fileSpec{verb: Move, valued: " -S --suffix -t --target-directory ", which: butLast, deep: "always"}, true
	case "chmod", "chown", "chgrp", "chattr", "setfacl", "chcon", "icacls", "takeown", "chflags", "setfattr":
		return fileSpec{verb: Permission, valued: " --reference --from -m -x -M -X --modify ", which: butFirst, deep: "-R --recursive /T /t /R /r"}, true
	}
	return fileSpec{}, false
}

// arguments0 takes the words of a command apart: options, with their values, and operands.
func arguments0(ws []word, valued string) (options, operands []word) {
	end := false
	for i := 1; i < len(ws); i++ {
		text := ws[i].text
		switch {
		case end || !strings.HasPrefix(text, "-") || text == "-":
			operands = append(operands, ws[i])
		case text == "--":
			end = true
		default:
			options = append(options, ws[i])
			if valued != "" && strings.Contains(valued, " "+text+" ") && i+1 < len(ws) {
				i++
				options = append(options, ws[i])
			}
		}
	}
	return options, operands
}

// given reports whether one of the options, listed with blanks, is among words.
func given(ws []word, list string) bool {
	for want := range strings.FieldsSeq(list) {
		for _, w := range ws {
			text := w.text
			if text == "--" {
				break
			}
			switch {
			case strings.HasPrefix(want, "--"):
				if name, _, _ := strings.Cut(strings.TrimPrefix(text, "--"), "="); strings.HasPrefix(text, "--") && len(name) > 2 && shortened(strings.ToLower(name), want[2:]) {
					return true
				}
			case strings.HasPrefix(want, "/"):
				if text == want {
					return true
				}
			case strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && strings.Contains(strings.ToLower(text), strings.ToLower(want[1:])):
				return true
			}
		}
	}
	return false
}

func (k *analysis) fileTool(name string, ws []word, in *source) bool {
	switch name {
	case "rsync", "tar", "bsdtar", "gtar", "tee", "dd", "gdd", "dcfldd", "pv", "cp", "gcp", "install", "ginstall", "ln", "rclone", "gio", "sed", "sponge", "unison", "robocopy", "scp", "xcopy", "cpio", "pax":
		k.otherFiles(name, ws, in)
		return true
	}
	spec, ok := fileTools(name)
	if !ok {
		return false
	}
	if spec.needs != "" && !given(ws[1:], spec.needs) {
		return true
	}
	deep := spec.deep == "always" || spec.deep != "" && given(ws[1:], spec.deep)
	options, operands := arguments0(ws, spec.valued)
	if (name == "fallocate" || name == "truncate") && slices.ContainsFunc(options, func(w word) bool { return hugeSize.MatchString(w.text) }) {
		k.unknown("it fills the disk", ws)
	}
	hiddenOption := slices.ContainsFunc(options, func(w word) bool { return w.many })
	switch spec.which {
	case butLast:
		if slices.ContainsFunc(options, func(w word) bool { return w.text == "-t" || strings.HasPrefix(w.text, "--target-d") }) {
			spec.which = allOperands
		}
		if spec.which == butLast && len(operands) > 0 {
			last := operands[len(operands)-1]
			operands = operands[:len(operands)-1]
			if len(operands) > 0 {
				k.overwrite(last, ws, false)
				k.moved(operands[0], last)
			}
		}
	case butFirst:
		if name == "icacls" || name == "takeown" { // whose options begin with a slash
			operands = slices.DeleteFunc(operands, func(w word) bool {
				return len(w.text) < 4 && strings.HasPrefix(w.text, "/") || strings.HasPrefix(w.text, "/inheritance")
			})
		}
		if name != "icacls" && name != "takeown" && len(operands) > 1 && !slices.ContainsFunc(options, func(w word) bool {
			return strings.HasPrefix(w.text, "--reference") || name == "setfacl" || name == "chattr" && strings.HasPrefix(w.text, "-i")
		}) {
			operands = operands[1:]
		}
	}
	for _, w := range operands {
		if spec.deep == "always" && spec.which == allOperands && !strings.Contains(w.text, live) {
			w.text = marked(w.text) // they take patterns themselves
		}
		k.touch(spec.verb, w, deep || hiddenOption && spec.verb == Delete, ws)
	}
	if spec.verb == Delete && slices.ContainsFunc(ws[1:], func(w word) bool { return w.many && w.text == hole }) {
		// `rm $X` may be given -rf and anything
		if hasMany := countAny(ws[1:]); hasMany > 1 || deep || slices.ContainsFunc(ws[1:], func(w word) bool { return !w.many && k.target(w) > unsure }) {
			k.unsure(Delete, "what it removes is hidden, or may be everything", ws)
		}
	}
	return true
}

func countAny(ws []word) int {
	n := 0
	for _, w := range ws {
		if w.any() {
			n++
		}
	}
	return n
}

// moved follows a file that the command has written to its new name.
func (k *analysis) moved(from, to word) {
	if src, ok := k.written(from); ok {
		k.write(to, src, false, []word{plain("mv"), from, to})
	}
}

// touch judges what a program does to one file or folder.
func (k *analysis) touch(verb Verb, w word, deep bool, ws []word) {
	at := k.target(w)
	if w.many && w.text == hole {
		at = unsure
	}
	if k.narrow && (at == unsure || at > unsure && at != device) {
		if verb == Delete && at > unsure {
			k.outside++
			k.unsure(verb, "it removes what it finds outside of the work tree", ws)
		}
		return
	}
	glob := w.globs() && everything(w.text[strings.LastIndexByte(w.text, '/')+1:])
	e := Effect{Verb: verb, Target: w.String(), Certain: at != unsure, Bounded: at != device}
	switch {
	case at == nowhere:
		return
	case at == device && verb != Permission && (verb != Delete || deep):
		k.never(formatDisk, ws)
		return
	case k.critical(w) && (verb != Permission || deep || k.rights(w)):
		k.never(rmRoot, ws)
		return
	case verb == Permission && (at == wholeHome || at == private && deep) && slices.ContainsFunc(ws[1:], func(w word) bool { return shut.MatchString(w.text) && w.text != "-rwx" }):
		k.never(rmHome, ws)
	case verb == Permission && (at == private || at == system && !permissible(w)):
		if at == system && (deep || slices.ContainsFunc(ws[1:], func(w word) bool { return shut.MatchString(w.text) })) {
			k.never(rmRoot, ws)
		}
		return
	case verb != Permission && verb != Move && k.key(w):
		k.unsure(verb, "a key that it takes away does not come back", ws)
	case !deep && !glob && verb != Move: // one file, or a folder that is refused
		if at == elsewhere || at > unsure {
			k.does(e)
		}
		return
	case at == wholeRoot || at == system && (verb != Permission || !permissible(w)):
		k.never(rmRoot, ws)
	case at == wholeHome, at == private:
		k.never(rmHome, ws)
	case at == unsure && (verb == Delete || verb == Overwrite && deep):
		k.outside++
		k.unsure(verb, "what it removes is hidden, or may be everything", ws)
	case at == elsewhere:
		k.does(e)
		if verb == Delete && deep {
			k.outside++
			if k.kept(w) {
				k.unsure(verb, "what it removes is outside of the work tree, and no cache", ws)
			}
		}
	case at == tree:
		k.does(e)
	}
}

// hugeSize is more than any file of a project.
var hugeSize = lazyregexp.New(`(?i)^(-l|-s|--length=|--size=)?[0-9]+[TPE]i?B?$`)

// shut are modes that let nobody in, or everybody.
var shut = lazyregexp.New(`^(0+|0*[0-7]?000|0*777|[ua]*-rwx|[a]*-[rx]+|[ao]\+rwx|[ugoa]*\+s|[24-7][0-7]{3})$`)

// permissible are system folders whose owner people do change.
func permissible(w word) bool {
	text := strings.TrimRight(w.text, "/*"+live)
	return slices.Contains([]string{"/usr/local", "/usr/local/bin", "/usr/local/lib", "/usr/local/share", "/opt", "/var/www", "/srv", "/usr/local/include", "/usr/local/etc", "/mnt", "/media", "/nix", "/var/lib/docker"}, text) || strings.HasPrefix(text, "/usr/local/") || strings.HasPrefix(text, "/var/www/") || strings.HasPrefix(text, "/var/lib/")
}

// rights reports whether a file says who may do what on the machine.
func (k *analysis) rights(w word) bool {
	full := k.full(w)
	return slices.Contains([]string{"/etc/passwd", "/etc/shadow", "/etc/gshadow", "/etc/sudoers"}, full) || strings.HasPrefix(full, "/etc/sudoers.d/") && k.quiet == 0
}

// overwrite judges a file that is written.
func (k *analysis) overwrite(w word, ws []word, appends bool) {
	each := w.globs() && everything(w.text[strings.LastIndexByte(w.text, '/')+1:]) && !appends
	switch at := k.target(w); {
	case at == device && !each:
		k.never(formatDisk, ws)
	case each && at > unsure: // all that find has found there
		k.touch(Overwrite, w, true, ws)
		if k.narrow {
			k.unsure(Overwrite, "it overwrites what it finds outside of the work tree", ws)
		}
	case strings.HasPrefix(k.full(w), "/sys/devices/") && sysSwitch.MatchString(k.full(w)), strings.HasPrefix(k.full(w), "/proc/sys/") && sysctlBad.MatchString(k.full(w)):
		k.unknown("it changes the system under what runs on it", ws)
	case k.critical(w) && (!appends || k.rights(w)), strings.HasPrefix(w.text, "/proc/sysrq"):
		k.never(rmRoot, ws)
	case strings.HasSuffix(k.full(w), "/.ssh/authorized_keys"):
		k.unsure(Overwrite, "it says who may log in", ws)
	case !appends && coreFile.MatchString(k.full(w)):
		k.unsure(Overwrite, "the system reads what it overwrites", ws)
	case at == elsewhere || at > unsure:
		k.does(Effect{Verb: Overwrite, Target: w.String(), Certain: true, Bounded: true})
	}
}

// sysSwitch are files by which a device is switched off.
var sysSwitch = lazyregexp.New(`/(online|remove|delete|reset|unbind|state|authorized)$`)

// coreFile are files of the system that are there before any that people add.
var coreFile = lazyregexp.New(`^/etc/cron[^/]*/|^/etc/(hosts|resolv\.conf|profile|environment|hostname|nsswitch\.conf|bash\.bashrc|crontab|inittab|services|ld\.so\.conf|sysctl\.conf|selinux/config|default/grub|ssh/ssh_config|apt/sources\.list|group-|login\.defs)$|^/(usr/)?s?bin/(sh|bash|ls|env|su|sudo|login|init|mount|python3?|perl|cp|mv|rm|cat)$`)

// otherFiles judges programs whose words need more than a row of the table.
func (k *analysis) otherFiles(name string, ws []word, in *source) {
	switch name {
	case "rsync", "unison":
		k.rsync(ws)
	case "robocopy":
		if given(ws, "/MIR /PURGE /mir /purge") && len(ws) > 2 {
			k.touch(Delete, ws[2], true, ws)
		}
	case "tar", "bsdtar", "gtar":
		if given(ws[1:], "--remove-files") {
			_, operands := arguments0(ws, " -f -C --file --directory -T -X ")
			for i, w := range operands {
				if i == 0 && slices.Contains([]string{"-cf", "cf", "-czf", "czf", "cvf", "-cvf", "cvzf", "-cvzf"}, ws[1].text) || strings.HasSuffix(w.text, ".tar") || strings.HasSuffix(w.text, "gz") || w.text == "/dev/null" || w.text == "cf" {
					continue
				}
				k.touch(Delete, w, true, ws)
			}
		}
		k.unpacks(ws)
		for _, w := range ws[1:] {
			for _, o := range []string{"--to-command", "--checkpoint-action", "--use-compress-program", "-I", "--info-script", "--rsh-command"} {
				if v, ok := strings.CutPrefix(w.text, o+"="); ok {
					k.evaluate([]word{plain(strings.TrimPrefix(v, "exec="))}, ws, nil)
				}
			}
		}
	case "tee", "sponge":
		for _, w := range ws[1:] {
			if !strings.HasPrefix(w.text, "-") {
				k.overwrite(w, ws, given(ws[1:], "-a --append"))
				k.write(w, in, given(ws[1:], "-a --append"), ws)
			}
		}
	case "dd", "gdd", "dcfldd":
		from := in
		for _, w := range ws[1:] {
			if v, ok := strings.CutPrefix(w.text, "if="); ok && !slices.Contains([]string{"/dev/stdin", "/dev/fd/0"}, v) {
				if from, ok = k.written(plain(v)); !ok {
					from = &source{file: !strings.HasPrefix(v, "/dev/")}
				}
			}
		}
		all := " " + joined(ws)
		if (strings.Contains(all, " if=/dev/zero") || strings.Contains(all, "random")) && !strings.Contains(all, " count=") && strings.Contains(all, " of=") && !strings.Contains(all, " of=/dev/null") {
			k.unknown("it fills the disk", ws)
		}
		for _, w := range ws[1:] {
			if v, ok := strings.CutPrefix(w.text, "of="); ok {
				to := word{v, w.many}
				if v == hole {
					k.unsure(Device, "where it writes to is hidden, and may be a disk", ws)
				}
				k.overwrite(to, ws, false)
				k.write(to, from, false, ws)
			}
		}
	case "pv":
		for i, w := range ws {
			if (w.text == "-o" || w.text == "--output") && i+1 < len(ws) {
				k.overwrite(ws[i+1], ws, false)
			}
		}
	case "cp", "gcp", "install", "ginstall", "scp", "xcopy":
		k.copy(name, ws, in)
	case "ln":
		k.link(ws)
	case "cpio", "pax":
		_, operands := arguments0(ws, " -F -H -R -E -f -s ")
		if name == "cpio" && given(ws[1:], "-p --pass-through") || name == "pax" && given(ws[1:], "-w") {
			for _, w := range operands {
				if at := k.target(w); at == wholeRoot || at == wholeHome || at == system {
					k.unsure(Overwrite, "it unpacks over what is there", ws)
				}
			}
		} else if at := k.target(plain(".")); given(ws[1:], "-i --extract -r") && (at == wholeRoot || at == wholeHome || at == system) {
			k.unsure(Overwrite, "it unpacks over what is there", ws)
		}
	case "rclone":
		k.rclone(ws)
	case "gio":
		if len(ws) > 2 && (ws[1].text == "trash" || ws[1].text == "remove") {
			for _, w := range ws[2:] {
				k.touch(Delete, w, true, ws)
			}
		}
	case "sed":
		k.sed(ws)
	}
}

// unpacks judges an archive that is unpacked over the system, or a home folder.
func (k *analysis) unpacks(ws []word) {
	if len(ws) < 2 || !given(ws[1:], "-x --extract --get") && !(strings.HasPrefix(ws[1].text, "x") && len(ws[1].text) < 6) {
		return
	}
	for i, w := range ws[1:] {
		dir, ok := strings.CutPrefix(w.text, "--directory=")
		if ws[i].text == "-C" || ws[i].text == "--directory" {
			dir, ok = w.text, true
		}
		if at := k.target(plain(dir)); ok && (at == wholeRoot || at == wholeHome || at == system && !permissible(plain(dir))) {
			k.unsure(Overwrite, "it unpacks over what is there", ws)
		}
	}
}

func (k *analysis) rsync(ws []word) {
	_, operands := arguments0(ws, " -e --rsh -f --filter --exclude --include --exclude-from --include-from --rsync-path --backup-dir --temp-dir -T --files-from --log-file --chmod --chown --port --password-file --max-size --min-size --timeout --bwlimit --out-format --compare-dest --link-dest --copy-dest --partial-dir --suffix --max-delete --info ")
	for i, w := range ws[1:] {
		for _, o := range []string{"-e", "--rsh", "--rsync-path"} {
			if v, ok := strings.CutPrefix(w.text, o+"="); ok {
				k.evaluate([]word{plain(v)}, ws, nil)
			} else if w.text == o && i+2 < len(ws) {
				k.evaluate([]word{ws[i+2], plain("x")}, ws, nil)
			}
		}
	}
	if len(operands) == 0 || dryRun(ws) || given(ws[1:], "-n") && slices.ContainsFunc(ws, func(w word) bool { return w.text == "-n" }) {
		return
	}
	last := operands[len(operands)-1]
	if i := strings.IndexByte(last.text, ':'); i >= 0 && !strings.Contains(last.text[:i], "/") || strings.HasPrefix(last.text, "rsync://") {
		return // to another machine: see deploy
	}
	if given(ws[1:], "--delete --del --delete-after --delete-before --delete-excluded --delete-during") {
		k.touch(Delete, word{strings.TrimSuffix(last.text, "/"), last.many}, true, ws)
		if last.text == "/" {
			k.touch(Delete, last, true, ws)
		}
	}
	if given(ws[1:], "--remove-source-files") {
		for _, w := range operands[:len(operands)-1] {
			k.touch(Delete, w, true, ws)
		}
	}
}

// copy judges cp, install and scp: what is overwritten, and what gets a file that the command
// has written.
func (k *analysis) copy(name string, ws []word, in *source) {
	_, operands := arguments0(ws, " -t --target-directory -S --suffix -m --mode -o --owner -g --group -P -i -F -l ")
	if name == "install" && given(ws[1:], "-d --directory") || len(operands) < 2 {
		return
	}
	last := operands[len(operands)-1]
	k.overwrite(last, ws, false)
	if operands[0].text == "/dev/null" && k.key(last) {
		k.touch(Overwrite, last, false, ws)
	}
	for _, from := range operands[:len(operands)-1] {
		to := last
		var src *source
		switch {
		case slices.Contains([]string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"}, from.text):
			src = in
		default:
			ok := false
			if src, ok = k.written(from); !ok {
				if hookPath(k.full(to)) {
					k.unsure(Run, "git runs what it puts there", ws)
				}
				continue
			}
		}
		if strings.HasSuffix(to.text, "/") || to.text == "." {
			to.text = strings.TrimSuffix(to.text, "/") + from.text[strings.LastIndexByte("/"+from.text, '/'):]
		}
		k.write(to, src, false, ws)
	}
}

// link keeps a symbolic link: what is done to its name is done to what it leads to.
func (k *analysis) link(ws []word) {
	_, operands := arguments0(ws, " -S -t ")
	if to := operands; len(to) > 1 && given(ws[1:], "-f --force") && k.target(to[1]) == private {
		k.unsure(Overwrite, "it puts a link in the place of what is there", ws)
	}
	if !given(ws[1:], "-s --symbolic") || len(operands) == 0 {
		if len(operands) > 1 {
			k.overwrite(operands[len(operands)-1], ws, true)
		}
		return
	}
	to := operands[0]
	name := word{text: to.text[strings.LastIndexByte(to.text, '/')+1:]}
	if to.text == home {
		name = plain("home")
	}
	if len(operands) > 1 {
		name = operands[1]
	}
	full := k.full(to)
	if to.holes() {
		full = hole
	}
	if k.critical(name) && given(ws[1:], "-f --force") {
		k.never(rmRoot, ws)
	} else if k.key(name) && given(ws[1:], "-f --force") {
		k.unsure(Overwrite, "a key that it takes away does not come back", ws)
	}
	k.s.links[k.full(name)] = full
	if src, ok := k.written(to); ok {
		k.write(name, src, false, ws)
	} else if hookPath(k.full(name)) {
		k.unsure(Run, "git runs what it puts there", ws)
	}
}

func (k *analysis) rclone(ws []word) {
	_, operands := arguments0(ws, " --config --exclude --include --filter --transfers --checkers ")
	if len(operands) < 2 || dryRun(ws) {
		return
	}
	switch operands[0].text {
	case "purge", "delete", "deletefile", "rmdirs":
		if w := operands[1]; strings.Contains(w.text, ":") {
			k.unknown("what is on a remote storage is deleted", ws)
		} else {
			k.touch(Delete, w, true, ws)
		}
	case "sync", "move", "bisync":
		for _, w := range operands[1:] {
			if !strings.Contains(w.text, ":") {
				k.touch(Delete, w, true, ws)
			} else if operands[0].text != "move" {
				k.unknown("what is on a remote storage is replaced", ws)
			}
		}
	}
}

// sed changes files with -i: one that the command has written is another one after that.
func (k *analysis) sed(ws []word) {
	if slices.ContainsFunc(ws[1:], func(w word) bool { return sedRuns.MatchString(w.text) }) {
		k.unknown("code that may run any command", ws)
	}
	if !given(ws[1:], "-i --in-place") {
		return
	}
	for _, w := range ws[1:] {
		if strings.HasPrefix(w.text, "-") {
			continue
		}
		if strings.HasPrefix(w.text, "/") && k.critical(w) {
			k.never(rmRoot, ws)
		}
		if name := w.lower()[strings.LastIndexByte(w.text, '/')+1:]; slices.Contains([]string{"package.json", "makefile", "justfile"}, name) {
			for _, o := range ws[1:] { // what is put there may run
				if o != w && risky(o.text) {
					k.loose(strings.NewReplacer("/", " ", "\\t", " ", "\\n", " ", "~ ", "~").Replace(o.String()))
				}
			}
		}
		if src, ok := k.s.files[k.full(w)]; ok {
			k.write(w, &source{text: src.text}, false, ws)
		}
		if len(ws) > 2 && strings.Contains(w.text, "/") && !strings.Contains(w.text, " ") && !strings.HasPrefix(w.text, "s/") {
			if gitConfigPath(k.full(w)) {
				k.unsure(Run, "settings of git may make another command of the next", ws)
			}
		}
	}
}
