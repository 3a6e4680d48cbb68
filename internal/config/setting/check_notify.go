package setting

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/notice"
)

// CheckNoticeEvent wants one of the events that people can hear of, by any of its names.
func CheckNoticeEvent(name string) string {
	if _, ok := notice.Named(name); ok {
		return ""
	}
	var names, shown []string
	for _, e := range notice.Events() {
		names = append(append(names, e.Name), e.Also...)
		shown = append(shown, e.Name)
	}
	return "has an unknown event " + Quote(name) + meant(strings.TrimPrefix(name, "autopilot:"), names, shown)
}

// CheckSound wants the name of a sound, or a word for silence.
func CheckSound(name string) string {
	if name == "" || name == "none" || slices.Contains(notice.Sounds(), notice.Sound(name)) {
		return ""
	}
	names := []string{"none"}
	for _, s := range notice.Sounds() {
		names = append(names, string(s))
	}
	return "is no sound: " + Quote(name) + meant(name, names, names)
}

// meant ends a complaint with the name that was probably meant, or with those to
// choose from.
func meant(name string, names, shown []string) string {
	if best := ralph.Nearest(name, names); best != "" && len(name) <= 64 {
		return "; did you mean " + Quote(best) + "?"
	}
	return "; known are " + strings.Join(shown, ", ")
}
