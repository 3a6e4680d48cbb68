package ralph

import "slices"

// How Apply changes what is listed: a copy takes the place of what a clone may share.

func (s *State) editTask(id TaskID, edit func(*Task)) {
	list, i := s.Plan.Tasks, s.edited
	if i >= len(list) || list[i].ID != id {
		i = s.planIndex(id)
	}
	inPlan := i >= 0
	if inPlan {
		s.edited = i
	} else if list, i = s.Stages, slices.IndexFunc(s.Stages, func(t *Task) bool { return t.ID == id }); i < 0 {
		return
	}
	c := *list[i]
	status, counted := c.Status, c.Run.Counted
	edit(&c)
	if c.Status != status {
		c.Line, c.Run.Counted = "", Counted{} // what a person wrote no longer says what is so
		s.uncount(counted)
	}
	if inPlan {
		s.put(i, &c)
	} else {
		list[i] = &c
	}
}

// editTasks changes those tasks and stages that change is true of, without any count of them.
func (s *State) editTasks(change func(*Task) bool) {
	for i, t := range s.Plan.Tasks {
		if c := *t; change(&c) {
			s.put(i, &c)
		}
	}
	for i, t := range s.Stages {
		if c := *t; change(&c) {
			s.Stages[i] = &c
		}
	}
}

func (s *State) editSpec(id SpecID, edit func(*Spec)) {
	for i, x := range s.Inbox {
		if x.ID == id {
			c := *x
			c.Line = ""
			edit(&c)
			s.Inbox[i] = &c
		}
	}
}

func (s *State) editJob(edit func(*Job)) {
	if s.Job != nil {
		c := *s.Job
		edit(&c)
		s.Job = &c
	}
}

// ordered returns list in the order of ids; what ids does not name goes last.
func ordered[T any, ID comparable](list []T, ids []ID, id func(T) ID) []T {
	out := make([]T, 0, len(list))
	for n, want := range ids {
		if slices.Contains(ids[:n], want) { // named twice it is still one
			continue
		}
		if i := slices.IndexFunc(list, func(x T) bool { return id(x) == want }); i >= 0 {
			out = append(out, list[i])
		}
	}
	for _, x := range list {
		if !slices.Contains(ids, id(x)) {
			out = append(out, x)
		}
	}
	return out
}
