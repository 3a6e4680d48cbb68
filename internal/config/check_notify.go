package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/notice"
)

// checkNoticeEvent wants one of the events that people can hear of, by any of its names.
func checkNoticeEvent(name string) string {
	if _, ok := notice.Named(name); ok {
		return ""
	}
	var names, shown []string
	for _, e := range notice.Events() {
		names = append(append(names, e.Name), e.Also...)
		shown = append(shown, e.Name)
	}
	return "has an unknown event " + show(name) + meant(strings.TrimPrefix(name, "autopilot:"), names, shown)
}

// checkSound wants the name of a sound, or a word for silence.
func checkSound(name string) string {
	if name == "" || name == "none" || slices.Contains(notice.Sounds(), notice.Sound(name)) {
		return ""
	}
	names := []string{"none"}
	for _, s := range notice.Sounds() {
		names = append(names, string(s))
	}
	return "is no sound: " + show(name) + meant(name, names, names)
}

// meant ends a complaint with the name that was probably meant, or with those to
// choose from.
func meant(name string, names, shown []string) string {
	if best := ralph.Nearest(name, names); best != "" && len(name) <= 64 {
		return "; did you mean " + show(best) + "?"
	}
	return "; known are " + strings.Join(shown, ", ")
}

// sameEvent finds two names of one event: which one holds would be chance.
func sameEvent(events map[string]string) (a, b, event string) {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(events)) {
		e, _ := notice.Named(name)
		if before, twice := seen[e.Name]; twice {
			return before, name, e.Name
		}
		seen[e.Name] = name
	}
	return "", "", ""
}
