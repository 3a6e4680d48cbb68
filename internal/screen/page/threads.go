package page

import "github.com/ralph-loop/ralph/internal/screen"

// ThreadModel is a thread on its own page, with ralph's plan for it.
type ThreadModel struct {
	screen.ThreadCard
	Steps []screen.RunStep
	Cut   int // older steps that are left out
}

// ThreadsBriefModel are the threads on the overview.
type ThreadsBriefModel struct {
	List  []screen.Thread
	Total int
}
