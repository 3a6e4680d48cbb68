package ralph

// Witness is by what a person was known for one when an answer was given (S3). The zero
// Witness is of a journal that was written before, or of an answer that no person gave.
type Witness struct {
	Way  string `json:"way,omitempty"`  // terminal, command (one without a terminal), dashboard, token
	Name string `json:"name,omitempty"` // of the terminal
	Pid  int    `json:"pid,omitempty"`  // of the process that said it
	// Unknown is why nobody could look whether the process comes from a turn; "": somebody
	// looked, and it does not.
	Unknown string `json:"unknown,omitempty"`
}

// The ways in which a person answers.
const (
	WayTerminal  = "terminal"
	WayCommand   = "command"
	WayDashboard = "dashboard"
	WayToken     = "token"
)

// Words is the witness for people, "" for none.
func (w Witness) Words() string {
	words := ""
	switch w.Way {
	case "":
		return ""
	case WayTerminal:
		words = "at " + w.Name
	case WayCommand:
		words = "by a command without a terminal"
	case WayDashboard:
		words = "in the dashboard"
	case WayToken:
		words = "with the API's token"
	}
	if w.Unknown != "" {
		words += ", from where is not known: " + w.Unknown
	}
	return words
}

// Witnessed adds to answers by what a person was known for one.
func Witnessed(facts []Fact, w Witness) []Fact {
	for i, f := range facts {
		if answer, ok := f.(Answered); ok && answer.Rule == "" {
			answer.Who = w
			facts[i] = answer
		}
	}
	return facts
}
