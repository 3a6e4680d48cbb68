package views

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// The records of inbox.jsonl and plan.jsonl, in the seeds' formats. Fields we
// do not know are kept.

// member is one field of a record: order is kept when a record is written.
type member struct {
	key   string
	value any
}

// encodeRecord writes members in order, then the extra fields as they were.
func encodeRecord(members []member, extra ralph.RawObject) string {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		writePlain(&b, m.key)
		b.WriteByte(':')
		writePlain(&b, m.value)
	}
	if inner := strings.TrimSpace(string(extra)); len(inner) > 2 {
		b.WriteByte(',')
		b.WriteString(strings.TrimSpace(inner[1 : len(inner)-1]))
	}
	b.WriteByte('}')
	return b.String()
}

// writePlain writes what plainJSON returns. Text that needs no escapes, as nearly
// all in a record, goes without the encoder: `ralph status` renders each record
// of the inbox to see whether a person changed it.
func writePlain(b *bytes.Buffer, v any) {
	var text string
	switch v := v.(type) {
	case string:
		text = v
	case ralph.SpecID:
		text = string(v)
	case ralph.TaskID:
		text = string(v)
	case ralph.SpecStatus:
		text = string(v)
	case ralph.TaskStatus:
		text = string(v)
	default:
		b.Write(plainJSON(v))
		return
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			b.Write(plainJSON(text))
			return
		}
	}
	b.WriteByte('"')
	b.WriteString(text)
	b.WriteByte('"')
}

// plainJSON is json.Marshal without escaping <, > and &, for human eyes. Only
// strings, ints and string slices come here: they always have a JSON form.
func plainJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// stamp is a time in a record: ISO 8601, UTC, whole seconds.
func stamp(t time.Time) string { return t.UTC().Truncate(time.Second).Format(time.RFC3339) }

func specLine(x *ralph.Spec) string {
	if x.Line != "" {
		return x.Line
	}
	m := []member{{"t", "inbox"}, {"id", x.ID}, {"spec", x.File}, {"added_at", stamp(x.AddedAt)}, {"status", x.Status}}
	if x.Priority != 0 {
		m = append(m, member{"priority", x.Priority})
	}
	if !x.StartedAt.IsZero() {
		m = append(m, member{"started_at", stamp(x.StartedAt)})
	}
	if !x.EndedAt.IsZero() {
		m = append(m, member{"completed_at", stamp(x.EndedAt)})
	}
	if x.Error != "" {
		m = append(m, member{"error", x.Error})
	}
	return encodeRecord(m, x.Extra)
}

func taskLine(t *ralph.Task) string {
	if t.Line != "" {
		return t.Line
	}
	m := []member{{"t", "task"}, {"id", t.ID}}
	text := func(key, value string) {
		if value != "" {
			m = append(m, member{key, value})
		}
	}
	text("spec", t.Spec)
	m = append(m, member{"name", t.Name})
	text("notes", t.Notes)
	text("accept", t.Accept)
	if len(t.Deps) > 0 {
		m = append(m, member{"deps", t.Deps})
	}
	if len(t.Tags) > 0 {
		m = append(m, member{"tags", t.Tags})
	}
	if len(t.Worker) > 0 {
		m = append(m, member{"worker", t.Worker})
	}
	text("priority", t.Priority)
	text("phase", t.Phase)
	text("parent", string(t.Parent))
	m = append(m, member{"status", t.Status})
	if t.RetryCount > 0 {
		m = append(m, member{"retry_count", t.RetryCount})
	}
	if t.MaxIterations > 0 {
		m = append(m, member{"max_iterations", t.MaxIterations})
	}
	if t.Timeout > 0 {
		m = append(m, member{"timeout", ralph.ClockTime(t.Timeout)})
	}
	return encodeRecord(m, t.Extra)
}

func issueLine(i *ralph.Issue) string {
	if i.Line != "" {
		return i.Line
	}
	m := []member{{"t", "issue"}, {"id", i.ID}}
	if i.Spec != "" {
		m = append(m, member{"spec", i.Spec})
	}
	return encodeRecord(append(m, member{"desc", i.Desc}), i.Extra)
}

func rejectLine(r *ralph.Reject) string {
	if r.Line != "" {
		return r.Line
	}
	return encodeRecord([]member{{"t", "reject"}, {"id", r.ID}, {"reason", r.Reason}}, r.Extra)
}

// fields is a record being read: known members are taken out, the rest is extra.
type fields struct {
	keys   []string
	values map[string]json.RawMessage
	err    error
}

// readFields splits one line into its members, keeping their order.
func readFields(line string) (*fields, error) {
	dec := json.NewDecoder(strings.NewReader(line))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, fmt.Errorf("not a JSON object: %.60s", line)
	}
	f := &fields{values: map[string]json.RawMessage{}}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		key := tok.(string) // an object's keys are strings
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		if _, twice := f.values[key]; twice {
			return nil, fmt.Errorf("field %q stands twice", key)
		}
		f.keys = append(f.keys, key)
		f.values[key] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind the JSON object")
	}
	return f, nil
}

// take decodes a member into dst, if it is there, and removes it.
func (f *fields) take(key string, dst any) {
	raw, ok := f.values[key]
	if !ok || f.err != nil {
		return
	}
	delete(f.values, key)
	f.keys = slices.DeleteFunc(f.keys, func(k string) bool { return k == key })
	if err := json.Unmarshal(raw, dst); err != nil {
		f.err = fmt.Errorf("field %q: %s does not fit", key, raw)
	}
}

// takeTime takes a length of time, written as in the settings: "45m".
func (f *fields) takeTime(key string, dst *time.Duration) {
	var words string
	if f.take(key, &words); words == "" || f.err != nil {
		return
	}
	d, err := time.ParseDuration(words)
	if err != nil {
		f.err = fmt.Errorf("field %q: %q is no time such as 45m or 2h", key, words)
	}
	*dst = d
}

// rest returns the members that nobody took.
func (f *fields) rest() ralph.RawObject {
	if len(f.keys) == 0 {
		return ""
	}
	var b bytes.Buffer
	for i, k := range f.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", plainJSON(k), f.values[k])
	}
	return ralph.RawObject("{" + b.String() + "}")
}

func readSpec(line string) (*ralph.Spec, error) {
	f, err := readFields(line)
	if err != nil {
		return nil, err
	}
	var x ralph.Spec
	var kind string
	f.take("t", &kind)
	f.take("id", &x.ID)
	f.take("spec", &x.File)
	f.take("added_at", &x.AddedAt)
	f.take("status", &x.Status)
	f.take("priority", &x.Priority)
	f.take("started_at", &x.StartedAt)
	f.take("completed_at", &x.EndedAt)
	f.take("error", &x.Error)
	switch {
	case f.err != nil:
		return nil, f.err
	case kind != "inbox":
		return nil, fmt.Errorf(`"t" is %q, not "inbox"`, kind)
	case x.ID == "":
		return nil, fmt.Errorf(`"id" is missing`)
	case x.File == "":
		return nil, fmt.Errorf(`"spec" is missing`)
	case !x.Status.Valid():
		return nil, fmt.Errorf("status %q is none of pending, active, done, failed", x.Status)
	}
	if _, err := ralph.SpecFile(x.File); err != nil {
		return nil, err
	}
	x.Extra = f.rest()
	if x.Extra != "" || specLine(&x) != line { // the journal may spell Extra another way
		x.Line = line
	}
	return &x, nil
}

// planRecord is one line of plan.jsonl.
type planRecord struct {
	file   string // "t":"spec"
	task   *ralph.Task
	issue  *ralph.Issue
	reject *ralph.Reject
}

func readPlanRecord(line string, newID func(prefix, words string) string) (planRecord, error) {
	f, err := readFields(line)
	if err != nil {
		return planRecord{}, err
	}
	var kind string
	f.take("t", &kind)
	var r planRecord
	switch kind {
	case "spec":
		f.take("spec", &r.file)
		if f.err == nil && r.file == "" {
			return r, fmt.Errorf(`"spec" is missing`)
		}
		return r, f.err
	case "task":
		r.task, err = readTask(f, line, newID)
	case "issue":
		r.issue, err = readIssue(f, line, newID)
	case "reject":
		var x ralph.Reject
		f.take("id", &x.ID)
		f.take("reason", &x.Reason)
		x.Extra = f.rest()
		if x.Extra != "" || rejectLine(&x) != line {
			x.Line = line
		}
		r.reject, err = &x, f.err
	default:
		return r, fmt.Errorf(`"t" is %q, not spec, task, issue or reject`, kind)
	}
	return r, err
}

func readTask(f *fields, line string, newID func(prefix, words string) string) (*ralph.Task, error) {
	var t ralph.Task
	f.take("id", &t.ID)
	f.take("spec", &t.Spec)
	f.take("name", &t.Name)
	f.take("notes", &t.Notes)
	f.take("accept", &t.Accept)
	f.take("deps", &t.Deps)
	f.take("tags", &t.Tags)
	f.take("worker", &t.Worker)
	f.take("priority", &t.Priority)
	f.take("phase", &t.Phase)
	f.take("parent", &t.Parent)
	f.take("status", &t.Status)
	f.take("retry_count", &t.RetryCount)
	f.take("max_iterations", &t.MaxIterations)
	f.takeTime("timeout", &t.Timeout)
	if t.Status == "" {
		t.Status = ralph.TaskPending
	}
	switch {
	case f.err != nil:
		return nil, f.err
	case strings.TrimSpace(t.Name) == "":
		return nil, fmt.Errorf(`"name" is missing`)
	case !t.Status.Valid():
		return nil, fmt.Errorf("status %q is none of pending, active, done, failed, blocked, timeout, skipped", t.Status)
	case strings.ContainsAny(string(t.ID), " \t\n:/"):
		return nil, fmt.Errorf("task id %q has a character that an id cannot have", t.ID)
	case t.RetryCount < 0 || t.MaxIterations < 0 || t.Timeout < 0:
		return nil, fmt.Errorf("a count is negative")
	}
	if t.ID == "" { // a person wrote it by hand
		t.ID = ralph.TaskID(newID("t", t.Name))
	}
	t.Extra = f.rest()
	if t.Extra != "" || taskLine(&t) != line {
		t.Line = keepLine(line, string(t.ID))
	}
	return &t, nil
}

func readIssue(f *fields, line string, newID func(prefix, words string) string) (*ralph.Issue, error) {
	var x ralph.Issue
	f.take("id", &x.ID)
	f.take("spec", &x.Spec)
	f.take("desc", &x.Desc)
	switch {
	case f.err != nil:
		return nil, f.err
	case strings.TrimSpace(x.Desc) == "":
		return nil, fmt.Errorf(`"desc" is missing`)
	}
	if x.ID == "" {
		x.ID = ralph.IssueID(newID("i", x.Desc))
	}
	x.Extra = f.rest()
	if x.Extra != "" || issueLine(&x) != line {
		x.Line = keepLine(line, string(x.ID))
	}
	return &x, nil
}

// keepLine keeps a hand-written line only when it names its id: otherwise the
// record is written out, so that the id it got is there the next time.
func keepLine(line, id string) string {
	if strings.Contains(line, fmt.Sprintf("%q", id)) {
		return line
	}
	return ""
}

// mergeLines returns the record file with what now changed of base and file did
// not: a person's edit of a task's notes keeps the status it got meanwhile.
func mergeLines(base, file, now string) string {
	fileWins := func(_ string, file, _ json.RawMessage) (json.RawMessage, bool) { return file, true }
	if line, ok := mergeRecord(base, file, now, fileWins); ok {
		return line
	}
	return file
}

// sameJSON compares two values but for white space; nil is no value at all.
func sameJSON(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
