package config

import (
	"strings"
	"testing"
)

// The events that sounds are given to go by any of their names; what is not
// known is refused with the nearest name and the line.
func TestNoticeEvents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, wrong string }{
		{"notify: {events: {step-complete: aiComplete, 'autopilot:all-limited': none, 'engine:paused': '', needs-human: sectorViolation}}\n", ""},
		{"notify:\n  events:\n    step-complet: aiComplete\n", "ralph/config.yaml:3: `notify.events` has an unknown event `step-complet`; did you mean `step-complete`?"},
		{"notify: {events: {'autopilot:stepfailed': none}}\n", "has an unknown event `autopilot:stepfailed`; did you mean `step-failed`?"},
		{"notify: {events: {xyzzyplugh: none}}\n", "has an unknown event `xyzzyplugh`; known are started, step-start, step-complete, "},
		{"notify:\n  events:\n    paused: none\n    complete: workflowdone2\n", "ralph/config.yaml:4: `notify.events` has under `complete` a value that is no sound: `workflowdone2`; did you mean `workflowDone`?"},
		{"notify: {events: {complete: bells-and-whistles}}\n", "`bells-and-whistles`; known are none, aiComplete, aiError, workflowDone, notification, sectorViolation"},
		{"notify: {events: {'autopilot:paused': none, 'engine:paused': aiError}}\n", "`notify.events` has the event paused twice, as `autopilot:paused` and as `engine:paused`"},
	} {
		_, err := load([]byte(tt.file), "ralph/config.yaml", nil, nil)
		if tt.wrong == "" && err != nil || tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)) {
			t.Errorf("%s: %v\nwant %s", tt.file, err, tt.wrong)
		}
	}
}
