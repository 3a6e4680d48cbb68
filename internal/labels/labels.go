// Package labels owns the labels of workers: how one is written, which a machine has by itself, and what
// is missing of those that a step asks for.
//
// It does NOT own where labels are asked for (internal/specfile, internal/config), nor how a step comes to
// a worker that has them (internal/fleet).
package labels

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// Bounds: a worker says all of its labels with each question to the server, which takes 1,000 bytes.
const (
	longest = 60
	Most    = 20
)

// Wrong says what is wrong with a label, in words that stand behind it; "" for nothing. It is a name, or a
// name with a value: gpu, os=windows.
func Wrong(label string) string {
	name, value, valued := strings.Cut(label, "=")
	switch {
	case len(label) > longest:
		return fmt.Sprintf("is longer than %d letters", longest)
	case !plain(name) || valued && !plain(value):
		return "must be a name or name=value of letters, digits, dots, dashes and underscores, such as gpu or os=windows"
	}
	return ""
}

func plain(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", r)
	})
}

// Union is each label of some lists once, in the order of letters. nil for none.
func Union(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Of are the labels of a worker on this machine: those that it was given, and os and arch where none of
// them says otherwise.
func Of(given []string) []string {
	all := slices.Clone(given)
	for name, value := range map[string]string{"os": runtime.GOOS, "arch": runtime.GOARCH} {
		if !slices.ContainsFunc(given, func(l string) bool { return strings.HasPrefix(l, name+"=") }) {
			all = append(all, name+"="+value)
		}
	}
	return Union(all)
}

// Missing are those of the wanted labels that are not among those there.
func Missing(want, there []string) []string {
	return slices.DeleteFunc(slices.Clone(want), func(l string) bool { return slices.Contains(there, l) })
}
