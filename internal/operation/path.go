package operation

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// zone is what a path leads to, the worst last.
type zone int

const (
	nowhere   zone = iota
	temporary      // temporary files, and caches that programs make anew
	tree           // within the work tree
	elsewhere
	unsure
	private // what a home folder is kept for: keys, settings, documents
	system
	wholeHome
	wholeRoot
	device // a disk as such
)

func homeParts(dir string) []string {
	return strings.FieldsFunc(strings.ToLower(dir), func(r rune) bool { return r == '/' })
}

var (
	drive   = lazyregexp.New(`(?i)^([a-z]:|/mnt/[a-z]|/[a-z]|/cygdrive/[a-z])?[/\\]*\*?$`)
	bracket = lazyregexp.New(live + `\[[^\]]*\]`)
	disks   = lazyregexp.New(`^(sd|hd|vd|xvd)[a-z*?]?[0-9]*$|^(nvme|mmcblk|disk|rdisk|dm-|md|loop|nbd|sr|zd|ram|da|ada|vtbd|nvd|wd|rd|rsd|rdisk|drbd|bcache|pmem)[0-9*]|^(mapper|disk|mem|kmem|port|block|zvol)$|^[a-z]*[*?\[]`)
)

// target judges a path wherever the shell may be.
func (k *analysis) target(w word) zone {
	if strings.HasPrefix(w.text, `\\.\`) {
		return device
	}
	if text := w.String(); text != "" && strings.ContainsAny(text, `:\/`) && !strings.Contains(text, "$?") && drive.MatchString(text) {
		return wholeRoot
	}
	worst := nowhere
	for _, dir := range k.s.dirs {
		worst = max(worst, k.from(dir, w.text))
	}
	return worst
}

func (k *analysis) from(dir, p string) zone {
	if p == "" {
		return nowhere // no file has this name
	}
	if strings.HasPrefix(p, home) || strings.HasPrefix(p, "/") {
		dir = ""
	}
	parts, lost, ok := k.resolve(dir + "/" + p)
	if !ok {
		return unsure
	}
	if lost {
		return k.somewhere(parts)
	}
	for range 3 { // links to links
		next, changed := k.linked(parts)
		if !changed {
			break
		}
		if parts, lost, ok = k.resolve(next); !ok || lost {
			return unsure
		}
	}
	if len(parts) > 1 && parts[0] == "proc" {
		return unsure // /proc/self/root is /
	}
	return k.whole(parts)
}

// resolve takes a path apart; lost: its beginning is above where the shell is, which nobody
// knows.
func (k *analysis) resolve(p string) (parts []string, lost, ok bool) {
	for part := range strings.SplitSeq(strings.ToLower(p), "/") {
		switch part {
		case "", ".":
		case hole:
			lost, parts = true, nil
		case home:
			parts = k.homes()
			lost = false
		case "..":
			if len(parts) > 1 && parts[0] == "proc" {
				return nil, false, false // /proc/self/cwd is a link
			}
			if parts = parts[:max(0, len(parts)-1)]; len(parts) == 0 && len(k.home) == 0 && strings.Contains(p, home) {
				lost = true
			}
		default:
			parts = append(parts[:len(parts):len(parts)], part)
		}
	}
	return parts, lost, true
}

// linked follows a symbolic link that the command has made, or a folder that it has put into
// a container.
func (k *analysis) linked(parts []string) (string, bool) {
	if len(k.s.links) == 0 && len(k.s.mounts) == 0 {
		return "", false
	}
	full := "/" + strings.Join(parts, "/")
	for _, m := range []map[string]string{k.s.links, k.s.mounts} {
		for _, from := range slices.Sorted(maps.Keys(m)) {
			to := m[from]
			if rest, ok := strings.CutPrefix(full, strings.ToLower(from)); ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(from, "/")) && to != full {
				return to + "/" + rest, true
			}
		}
	}
	return "", false
}

// homes are the parts of the home folder's path, or what stands for it.
func (k *analysis) homes() []string {
	if len(k.home) > 0 {
		return slices.Clone(k.home)
	}
	return []string{"home", "somebody"}
}

// somewhere judges the end of a path whose beginning nobody knows.
func (k *analysis) somewhere(parts []string) zone {
	if len(parts) == 0 || everything(parts[len(parts)-1]) {
		return unsure
	}
	last := parts[len(parts)-1]
	if strings.Trim(last, hole) == "" || slices.ContainsFunc(k.homes(), func(h string) bool { return matches(last, h) }) || slices.Contains([]string{"home", "users", "root", "etc", "usr", "var", "boot"}, last) {
		return unsure
	}
	return tree // below a folder that is in a variable: the caller's own
}

// whole judges a path from the root.
func (k *analysis) whole(parts []string) zone {
	all := len(parts) > 0 && everything(parts[len(parts)-1])
	above := parts
	if all {
		above = parts[:len(parts)-1]
	}
	inTree := len(k.work) > 0 && len(above) >= len(k.work) && slices.Equal(above[:len(k.work)], k.work) && !k.s.away
	switch {
	case len(above) == 0:
		return wholeRoot
	case inTree && slices.Contains(parts[len(k.work):], ".git"):
		return elsewhere // not what can be had again
	case inTree:
		return tree
	case k.holdsHome(above) || k.holdsHome(parts):
		return wholeHome
	case above[0] == "dev":
		return inDev(parts)
	case isTemporary(above):
		return temporary
	case above[0] == "tmp" || len(above) == 2 && above[1] == "tmp" && (above[0] == "var" || above[0] == "private"):
		if all {
			return temporary
		}
		return elsewhere
	case isSystem(above):
		return system
	}
	return k.inHome(above)
}

func inDev(parts []string) zone {
	switch {
	case len(parts) == 1:
		return system
	case slices.Contains([]string{"null", "zero", "full", "stdin", "stdout", "stderr", "tty", "fd", "random", "urandom", "ptmx", "pts", "console", "kvm", "fuse", "tcp", "udp"}, parts[1]) || strings.HasPrefix(parts[1], "tty") || strings.HasPrefix(parts[1], "std"):
		return nowhere
	case parts[1] == "shm":
		return temporary
	case disks.MatchString(strings.ReplaceAll(parts[1], live, "")):
		return device
	}
	return elsewhere
}

func isTemporary(parts []string) bool {
	switch {
	case len(parts) > 1 && parts[0] == "tmp", len(parts) > 2 && parts[1] == "tmp" && (parts[0] == "var" || parts[0] == "private"):
		return true
	case len(parts) > 2 && parts[0] == "var" && (parts[1] == "cache" || parts[1] == "folders"), len(parts) > 3 && parts[0] == "var" && parts[1] == "lib" && parts[2] == "apt":
		return true
	case len(parts) > 3 && parts[0] == "private" && parts[1] == "var" && parts[2] == "folders":
		return true
	}
	return false
}

// isSystem reports whether a folder is one without which the machine does not work, or keeps
// what services have.
func isSystem(parts []string) bool {
	any := func(at int, names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return matches(parts[at], n) })
	}
	top := []string{"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "opt", "proc", "run", "sbin", "srv", "sys", "usr", "var", "system", "library", "applications", "private", "volumes", "windows", "nix", "snap", "mnt", "media", "program files", "cygdrive"}
	switch {
	case any(0, "boot", "lib", "lib64", "bin", "sbin", "proc", "sys", "etc") && (len(parts) < 3 || any(0, "boot", "bin", "sbin")):
		return len(parts) < 2 || !any(0, "etc") || len(parts) == 2
	case len(parts) == 1:
		return any(0, top...)
	case len(parts) == 2 && any(0, "usr"):
		return any(1, "bin", "sbin", "lib", "lib32", "lib64", "libexec", "include", "share", "local", "src", "games")
	case len(parts) == 3 && any(0, "usr") && any(1, "local"):
		return any(2, "bin", "sbin", "lib", "etc")
	case len(parts) == 2 && any(0, "var"):
		return any(1, "lib", "log", "www", "spool", "mail", "run", "backups", "db", "opt", "root")
	case len(parts) >= 3 && any(0, "var") && any(1, "lib"):
		return len(parts) < 7 && any(2, "mysql", "postgresql", "pgsql", "docker", "mongodb", "redis", "etcd", "kubelet", "containerd", "elasticsearch", "mariadb", "dpkg", "libvirt", "grafana", "prometheus", "rabbitmq", "cassandra", "influxdb", "clickhouse")
	case len(parts) == 3 && any(0, "var") && any(1, "www"):
		return true
	case len(parts) == 2 && any(0, "windows"):
		return true
	}
	return false
}

// inHome judges what is in a home folder.
func (k *analysis) inHome(parts []string) zone {
	own := k.homes()
	under := len(parts) > len(own) && slices.Equal(parts[:len(own)], own)
	rest := parts
	switch {
	case under:
		rest = parts[len(own):]
	case parts[0] == "root" && len(parts) > 1:
		rest = parts[1:]
	case (parts[0] == "home" || parts[0] == "users") && len(parts) == 2:
		return wholeHome // somebody else's
	case (parts[0] == "home" || parts[0] == "users") && len(parts) > 2:
		rest = parts[2:]
	default:
		return elsewhere
	}
	caches := []string{".cache", ".npm", ".yarn", ".pnpm-store", ".gradle", ".m2", ".nuget", ".ivy2", ".sbt", ".rustup", ".nvm", ".bundle", ".node-gyp", ".cargo", ".ccache", ".sccache", ".deno", ".bun", ".pyenv", ".terraform.d", ".composer", ".pub-cache", ".cocoapods", ".cypress", ".electron", ".ruff_cache", ".mypy_cache"}
	switch {
	case slices.Contains(caches, rest[0]), len(rest) > 1 && rest[0] == "go" && rest[1] == "pkg", len(rest) > 1 && rest[0] == "library" && rest[1] == "caches":
		return temporary
	case len(rest) == 2 && rest[0] == ".local" && (matches(rest[1], "share") || matches(rest[1], "bin")), len(rest) == 1 && slices.ContainsFunc([]string{".ssh", ".gnupg", ".aws", ".kube", ".config", ".local", ".docker", ".mozilla", ".thunderbird", ".password-store", "documents", "desktop", "pictures", "downloads", "music", "videos", "movies", "library", "dropbox", "onedrive", "projects", "code", "repos", "src", "work", "workspace", "dev", "git", "public", "icloud", "backup", "backups", "mail", "bin"}, func(n string) bool { return matches(rest[0], n) }):
		return private
	}
	return elsewhere
}

// keyFiles are those that nothing makes anew.
var keyFiles = lazyregexp.New(`^(\.ssh/(id_[^/]*|authorized_keys|[^/]*\.pem)|\.gnupg/[^/]*|\.gnupg/private-keys[^/]*/.*|\.password-store/.*|\.aws/credentials|\.kube/config|\.ssh/config|\.netrc|\.(bashrc|zshrc|profile|bash_profile|zprofile|bash_history|zsh_history|gitconfig|vimrc)|\.local/share/keyrings(/.*)?|\.config/(nvim|git|gh|gcloud)(/.*)?)$`)

// rest is a path below the own home folder; false: it is not there.
func (k *analysis) rest(w word) (string, bool) {
	own := strings.Join(k.homes(), "/") + "/"
	for _, dir := range k.s.dirs {
		p := w.text
		if !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, home) {
			p = dir + "/" + p
		}
		if parts, lost, ok := k.resolve(p); ok && !lost {
			if rest, ok := strings.CutPrefix(strings.Join(parts, "/"), own); ok && !strings.HasSuffix(rest, ".pub") {
				return rest, true
			}
		}
	}
	return "", false
}

// key reports whether a path is one of a person's keys.
func (k *analysis) key(w word) bool {
	rest, ok := k.rest(w)
	return ok && keyFiles.MatchString(rest)
}

// kept reports whether a folder outside of the work tree is somebody's own: one that lies
// openly in the home folder, or on a disk that was mounted.
func (k *analysis) kept(w word) bool {
	text := strings.TrimRight(w.text, "/*"+live)
	if at := strings.Split(strings.TrimPrefix(text, "/"), "/"); strings.HasPrefix(text, "/") && len(at) > 1 && len(at) < 4 && (at[0] == "mnt" || at[0] == "media" || at[0] == "volumes" || at[0] == "Volumes") {
		return true
	}
	rest, ok := k.rest(w)
	if !ok || strings.HasPrefix(rest, ".") {
		return false
	}
	above := strings.TrimSuffix(rest, "/"+live+"*")
	return (above != rest || strings.HasSuffix(rest, "/.git")) && strings.Count(above, "/") < 2
}

// holdsHome reports whether a path is a home folder, or one that homes are in.
func (k *analysis) holdsHome(parts []string) bool {
	fits := func(h []string) bool {
		if len(h) == 0 || len(parts) > len(h) {
			return false
		}
		for i, p := range parts {
			if !matches(p, h[i]) {
				return false
			}
		}
		return true
	}
	if fits(k.homes()) || len(parts) == 1 && (matches(parts[0], "home") || matches(parts[0], "users") || matches(parts[0], "root")) {
		return true
	}
	return len(k.home) == 0 && len(parts) == 2 && (matches(parts[0], "home") || matches(parts[0], "users"))
}

// critical reports whether a path is a file that the system cannot do without.
func (k *analysis) critical(w word) bool {
	for _, dir := range k.s.dirs {
		p := w.text
		if !strings.HasPrefix(p, "/") {
			p = dir + "/" + p
		}
		p = path.Clean(p)
		if slices.Contains([]string{"/etc/passwd", "/etc/shadow", "/etc/sudoers", "/etc/fstab", "/etc/group", "/etc/gshadow", "/etc/crypttab", "/etc/ssh/sshd_config", "/etc/pam.conf", "/proc/sysrq-trigger", "/etc/ld.so.preload"}, p) ||
			strings.HasPrefix(p, "/boot/") || strings.HasPrefix(p, "/sys/") && !strings.HasPrefix(p, "/sys/class") && !strings.HasPrefix(p, "/sys/fs/cgroup") && !strings.HasPrefix(p, "/sys/kernel") && !strings.HasPrefix(p, "/sys/devices") || strings.HasPrefix(p, "/etc/pam.d/") || strings.HasPrefix(p, "/etc/sudoers.d/") || strings.HasPrefix(p, "/lib64/ld-") {
			return true
		}
	}
	return false
}

// everything reports whether a part of a path is a pattern for all names.
func everything(part string) bool {
	if !strings.Contains(part, live) {
		return false
	}
	rest := bracket.ReplaceAllString(part, "")
	return strings.Trim(strings.ReplaceAll(rest, live, ""), "*?.") == ""
}

// matches reports whether a part of a path may stand for a name.
func matches(part, name string) bool {
	if !strings.Contains(part, live) {
		return part == name
	}
	glob := strings.NewReplacer(live+"[!", "[^", live, "").Replace(part)
	ok, err := path.Match(glob, name)
	return ok || err != nil
}
