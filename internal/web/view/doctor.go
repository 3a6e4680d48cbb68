package view

import (
	"fmt"
	"time"
)

// Finding is one thing that the doctor looked at, with what mends it.
type Finding struct {
	Level string // ok, note, problem
	What  string
	Saw   string
	Fix   string
}

// DoctorPage is the last look of the doctor, and one that goes on.
type DoctorPage struct {
	Running  bool
	Looking  string // at what, now
	Step     int    // how many things were begun
	Began    time.Time
	At       time.Time // when Findings were seen; zero: never
	Took     time.Duration
	Findings []Finding
	Failed   string // why there are none
}

// doctorGroup is the findings of one level.
type doctorGroup struct {
	level, title string
	found        []Finding
}

// groups puts what is wrong first.
func (p DoctorPage) groups() []doctorGroup {
	out := []doctorGroup{{level: "problem", title: "Mend these"}, {level: "note", title: "Worth knowing"}, {level: "ok", title: "In order"}}
	for _, f := range p.Findings {
		i := 2
		switch f.Level {
		case "problem":
			i = 0
		case "note":
			i = 1
		}
		out[i].found = append(out[i].found, f)
	}
	return out
}

// verdict is what the findings come to.
func (p DoctorPage) verdict() (tone, text string) {
	g := p.groups()
	switch problems, notes := len(g[0].found), len(g[1].found); {
	case problems == 1:
		return "bad", "One problem"
	case problems > 1:
		return "bad", fmt.Sprintf("%d problems", problems)
	case notes > 0:
		return "good", fmt.Sprintf("No problem, %d worth knowing", notes)
	}
	return "good", "All is in order"
}

// levelStatus is the status that colours a level.
func levelStatus(level string) string {
	switch level {
	case "problem":
		return "failed"
	case "note":
		return "warn"
	}
	return "ok"
}

// bounded cuts a text that a program wrote.
func bounded(s string) string {
	const most = 1500
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "… (cut; `ralph doctor` shows all)"
	}
	return s
}

func tookWords(d time.Duration) string {
	if d < time.Second {
		return "in less than a second"
	}
	return fmt.Sprintf("in %.1f s", d.Seconds())
}
