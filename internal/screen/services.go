package screen

import (
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/services"
)

// ServiceCard is a service with what can be done with it.
type ServiceCard struct {
	services.Row
	Offers []action.Available
	More   int // entries that are left out
}

// ServicesModel is the page of the services.
type ServicesModel struct{ Cards []ServiceCard }

// maxEntries are shown of what waits for one service.
const maxEntries = 200

// ServicesOf is the page of the services.
func ServicesOf(s *ralph.State, world action.Context, now time.Time) ServicesModel {
	var m ServicesModel
	for _, r := range services.List(s, now) {
		c := ServiceCard{Row: r, Offers: action.AllAvailable(s, world, action.Service, string(r.Service))}
		if n := len(r.Entries) - maxEntries; n > 0 {
			c.Entries, c.More = r.Entries[:maxEntries], n
		}
		m.Cards = append(m.Cards, c)
	}
	return m
}
