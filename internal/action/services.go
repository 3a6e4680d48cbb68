package action

import (
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// serviceVerbs are what people do with the services that progress is sent to.
func serviceVerbs() []definition {
	return []definition{
		{
			name: "breaker-retry", about: Service, title: "Send now", key: "r", primary: true, said: "What waits is sent now, by the engine or by the next `[[sync]]`",
			command: "breaker retry <service>", short: "Send what waits for a service now, also what it has refused",
			doc:   "Ends the wait of an open breaker or of a limit, and tries what a service has refused once more.",
			facts: func(s *ralph.State, _ Context, in Input) ([]ralph.Fact, error) { return s.RetryService(in.ID) },
		},
		{
			name: "breaker-reset", about: Service, title: "Close the breaker", said: "The breaker is closed",
			command: "breaker reset <service>", short: "Close the breaker of a service",
			doc:   "Closes the breaker of a service, whatever it has counted.",
			facts: func(s *ralph.State, _ Context, in Input) ([]ralph.Fact, error) { return s.ResetBreaker(in.ID) },
		},
		{
			name: "breaker-drop", about: Service, title: "Drop what is parked", said: "What the service has refused is dropped",
			command: "breaker drop <service>", short: "Drop what a service has refused: it is never sent",
			doc: "Takes what a service has refused out of what is to be sent. It is told nowhere then.",
			confirm: func(s *ralph.State, id string) string {
				_, parked := s.Waiting(ralph.Service(id))
				return "Drop " + text.Count(parked, "refused entry") + "? What is dropped is never sent."
			},
			facts: func(s *ralph.State, _ Context, in Input) ([]ralph.Fact, error) { return s.DropParked(in.ID) },
		},
	}
}
