package fleet

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"go.opentelemetry.io/otel"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/log"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/fleet/metrics"
	"github.com/ralph-loop/ralph/internal/fleet/seal"
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

// InsecureVar allows to speak in the clear to a server on another machine.
const InsecureVar = "RALPH_FLEET_INSECURE"

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
	if o.ConnectionOptions.TLS, err = s.tls(); err != nil {
		return o, k, err
	}
	if api := s.env("TEMPORAL_API_KEY"); api != "" {
		o.Credentials = client.NewAPIKeyStaticCredentials(api)
		if o.ConnectionOptions.TLS == nil {
			o.ConnectionOptions.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		}
	}
	if o.ConnectionOptions.TLS == nil && !loopback(s.address()) && s.env(InsecureVar) == "" {
		return o, k, &ralph.Refusal{
			Why:  "the Temporal server " + s.address() + " is on another machine, and would be spoken to in the clear",
			Hint: "set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH (mTLS), TEMPORAL_API_KEY, or TEMPORAL_TLS=true; " + InsecureVar + "=1 where the network itself is safe", Kind: ralph.ErrUsage,
		}
	}
	return o, k, nil
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// tls is nil where nothing asks for it.
func (s Server) tls() (*tls.Config, error) {
	cert, key, ca := s.env("TEMPORAL_TLS_CLIENT_CERT_PATH"), s.env("TEMPORAL_TLS_CLIENT_KEY_PATH"), s.env("TEMPORAL_TLS_SERVER_CA_CERT_PATH")
	on := strings.EqualFold(s.env("TEMPORAL_TLS"), "true") || s.env("TEMPORAL_TLS") == "1"
	if cert+key+ca == "" && !on {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.env("TEMPORAL_TLS_SERVER_NAME")}
	if cert+key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("read the certificate of TEMPORAL_TLS_CLIENT_CERT_PATH and its key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if ca != "" {
		b, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("read TEMPORAL_TLS_SERVER_CA_CERT_PATH: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("read TEMPORAL_TLS_SERVER_CA_CERT_PATH: %s holds no certificate", ca)
		}
	}
	return c, nil
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
