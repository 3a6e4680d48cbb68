package config

import (
	"fmt"
	"slices"
	"strings"
)

// moments are when items of trackers are changed.
func moments() []string { return []string{"start", "done", "failed", "question"} }

func checkMoment(s string) string {
	if !slices.Contains(moments(), s) {
		return fmt.Sprintf("has %s, which is no moment: use %s", show(s), strings.Join(moments(), ", "))
	}
	return ""
}

// checkPairs looks at a list of Name=Value with commas between them.
func checkPairs(s string) string {
	for part := range strings.SplitSeq(s, ",") {
		if name, _, ok := strings.Cut(part, "="); !ok || strings.TrimSpace(name) == "" {
			return "must be written as Name=Value, Name=Value"
		}
	}
	return ""
}

func checkBoard(s string) string {
	p := strings.Split(s, "/")
	if s != "" && (len(p) != 3 || p[0] != "orgs" && p[0] != "users" || p[1] == "" || strings.Trim(p[2], "0123456789") != "" || p[2] == "") {
		return "must be written as orgs/acme/7 or users/anna/7"
	}
	return ""
}

// momentKeys are what becomes of an item at each moment.
func momentKeys(at string, labels, states, fields *map[string]string) []key {
	return []key{
		{path: at + "labels", v: table{p: labels, want: "moments with labels, such as {start: ralph-works, done: -ralph-works}", checkKey: checkMoment}, doc: "labels at `start`, `done`, `failed`, `question`, with commas between them; a minus takes one off"},
		{path: at + "states", v: table{p: states, want: "moments with states, such as {done: closed}", checkKey: checkMoment}, doc: "the state at each of these moments, in the service's own words"},
		{path: at + "fields", v: table{p: fields, want: "moments with fields, such as {start: Status=In progress}", checkKey: checkMoment, checkValue: checkPairs}, doc: "fields at each of these moments: `Name=Value, Name=Value`"},
	}
}
