package operation

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// verdict on what a program removes.
type verdict int

const (
	harmless verdict = iota
	unsure
	wholeHome
	wholeRoot
)

func homeParts(dir string) []string {
	return strings.FieldsFunc(strings.ToLower(dir), func(r rune) bool { return r == '/' })
}

var (
	drive   = regexp.MustCompile(`(?i)^([a-z]:|/mnt/[a-z]|/[a-z]|/cygdrive/[a-z])?[/\\]*\*?$`)
	bracket = regexp.MustCompile(live + `\[[^\]]*\]`)
)

// target judges a path that is removed with all in it: whether that is everything, or a
// home, or may be, wherever the shell is (C-043).
func (k *look) target(w word) verdict {
	if w.holes() {
		return unsure
	}
	if text := w.String(); text != "" && strings.ContainsAny(text, `:\/`) && drive.MatchString(text) {
		return wholeRoot
	}
	worst := harmless
	for _, dir := range k.dirs {
		worst = max(worst, k.from(dir, w.text))
	}
	return worst
}

func (k *look) from(dir, p string) verdict {
	if p == "" {
		return harmless // no file has this name
	}
	if strings.HasPrefix(p, home) || strings.HasPrefix(p, "/") {
		dir = ""
	}
	var parts []string
	lost := false // above where the shell is, which nobody knows
	for part := range strings.SplitSeq(strings.ToLower(dir+"/"+p), "/") {
		switch part {
		case "", ".":
		case hole:
			lost, parts = true, nil
		case home:
			parts = k.homes()
			lost = false
		case "..":
			if len(parts) > 1 && parts[0] == "proc" {
				return unsure // /proc/self/cwd is a link
			}
			if parts = parts[:max(0, len(parts)-1)]; len(parts) == 0 && len(k.home) == 0 && strings.HasPrefix(p, home) {
				lost = true
			}
		default:
			parts = append(parts[:len(parts):len(parts)], part)
		}
	}
	if lost {
		return k.somewhere(parts)
	}
	if len(parts) > 1 && parts[0] == "proc" {
		return unsure // /proc/self/root is /
	}
	return k.whole(parts)
}

// homes are the parts of the home folder's path, or what stands for it.
func (k *look) homes() []string {
	if len(k.home) > 0 {
		return slices.Clone(k.home)
	}
	return []string{"home", "somebody"}
}

// somewhere judges the end of a path whose beginning nobody knows.
func (k *look) somewhere(parts []string) verdict {
	if len(parts) == 0 || everything(parts[len(parts)-1]) {
		return unsure
	}
	last := parts[len(parts)-1]
	if slices.ContainsFunc(k.homes(), func(h string) bool { return matches(last, h) }) || slices.Contains([]string{"home", "users", "root"}, last) {
		return unsure
	}
	return harmless
}

// whole judges a path from the root.
func (k *look) whole(parts []string) verdict {
	all := len(parts) > 0 && everything(parts[len(parts)-1])
	above := parts
	if all {
		above = parts[:len(parts)-1]
	}
	if len(above) == 0 {
		return wholeRoot
	}
	if k.holdsHome(above) || k.holdsHome(parts) {
		return wholeHome
	}
	return harmless
}

// holdsHome reports whether a path is a home folder, or one that homes are in.
func (k *look) holdsHome(parts []string) bool {
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
