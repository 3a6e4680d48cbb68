package fleet

import (
	"cmp"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/log"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/fleet/metrics"
	"github.com/ralph-loop/ralph/internal/fleet/seal"
	"github.com/ralph-loop/ralph/internal/fleet/transport"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
	"github.com/ralph-loop/ralph/internal/proc"
)

// Server is where Temporal is and how it is spoken to. What is not said comes from the variables
// that Temporal's own tools read.
type Server struct {
	fleetcmd.At

	Environ []string
	meters  *metrics.Meters // nil: nothing is counted
}

func (s Server) env(name string) string { return proc.Getenv(s.Environ, name) }

// address and namespace, as the variables have them where nothing else was said.
func (s Server) address() string {
	return cmp.Or(s.Address, s.env("TEMPORAL_ADDRESS"), "127.0.0.1:7233")
}

func (s Server) namespace() string {
	return cmp.Or(s.Namespace, s.env("TEMPORAL_NAMESPACE"), "default")
}

func (s Server) queue() string { return cmp.Or(s.Queue, "ralph") }

// options are those of a client.
func (s Server) options(identity string) (client.Options, seal.Sealer, error) {
	k, err := seal.New(s.env(seal.KeyVar))
	if err != nil {
		return client.Options{}, k, err
	}
	o := client.Options{
		HostPort: s.address(), Namespace: s.namespace(), Identity: identity, DataConverter: dataConverter(k),
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)), MetricsHandler: handler(s.meters),
	}
	if o.ConnectionOptions.TLS, err = transport.TLS(s.address(), s.env); err != nil {
		return o, k, err
	}
	if api := s.env("TEMPORAL_API_KEY"); api != "" {
		o.Credentials = client.NewAPIKeyStaticCredentials(api)
	}
	return o, k, nil
}

// dial connects, and says what to do where nobody answers.
func (s Server) dial(identity string) (client.Client, seal.Sealer, error) {
	o, k, err := s.options(identity)
	if err != nil {
		return nil, k, err
	}
	c, err := client.Dial(o)
	if err != nil {
		return nil, k, &ralph.Refusal{
			Why:  fmt.Sprintf("no Temporal server answers at %s: %v", s.address(), err),
			Hint: "for trying it: `temporal server start-dev --headless`; another one: --fleet HOST:PORT, or fleet.address in ralph/config.yaml (docs/fleet.md)", Kind: ralph.ErrNotFound,
		}
	}
	return c, k, nil
}

// handler is what Temporal's own figures go to; nil for nowhere.
func handler(m *metrics.Meters) client.MetricsHandler {
	if m == nil {
		return nil
	}
	return opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{Meter: m.Of("temporal-sdk-go"), OnError: otel.Handle, UseMonotonicCounters: true})
}
