package config

import "github.com/ralph-loop/ralph/internal/config/setting"

// momentKeys are what becomes of an item at each moment.
func momentKeys(at string, labels, states, fields *map[string]string) []key {
	return []key{
		{path: at + "labels", v: setting.Table(labels, "moments with labels, such as {start: ralph-works, done: -ralph-works}", setting.CheckMoment, nil), doc: "labels at `start`, `done`, `failed`, `question`, with commas between them; a minus takes one off"},
		{path: at + "states", v: setting.Table(states, "moments with states, such as {done: closed}", setting.CheckMoment, nil), doc: "the state at each of these moments, in the service's own words"},
		{path: at + "fields", v: setting.Table(fields, "moments with fields, such as {start: Status=In progress}", setting.CheckMoment, setting.CheckPairs), doc: "fields at each of these moments: `Name=Value, Name=Value`"},
	}
}
