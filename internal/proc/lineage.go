package proc

import "errors"

// Process is a process as its descendants see it.
type Process struct {
	Pid   int    // in the space of whoever looks
	Start string // its Identity
	Space string // the space that its pids belong to, and
	Inner int    // its pid there
	Dir   string // its working folder, "" where the system does not tell
	Args  []string
	// Session is the session that it is in, and SessionStart the Identity of the process
	// that began it, "" when that has ended.
	Session      int
	SessionStart string
	Terminal     string // the name of its terminal: pts/3; "" for none
}

// Session is a session of processes: the pid that began it, and that one's Identity, ""
// when it had ended.
type Session struct {
	ID    int    `json:"id"`
	Start string `json:"start,omitempty"`
}

// InitialSpace is the space of pids that Linux starts with: whoever is in it sees every
// process of the machine.
const InitialSpace = "pid:[4026531836]"

// ErrUntold is that the system does not tell which process it was.
var ErrUntold = errors.New("the system does not tell which process it is")

// Peers are the processes that may have the other end of a connection. Sure: these have it.
// Else they are those that do not let themselves be looked into, one of which has it.
type Peers struct {
	Pids []int
	Sure bool
}

// ErrGone is that nobody has the other end of a connection any more.
var ErrGone = errors.New("whoever sent it has closed the connection")

// Within reports whether a process is in the session. While who began it lives its number
// is nobody else's; later a session of the same number has a beginner of its own.
func (s Session) Within(p Process) bool {
	return p.Session == s.ID && (p.SessionStart == "" || p.SessionStart == s.Start)
}
