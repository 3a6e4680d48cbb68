// Package transport owns how a Temporal server may be spoken to: mutual TLS, an API key over TLS, and in the clear to this
// machine alone. It does NOT own where the server is, nor the connection (internal/fleet).
package transport

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/ralph-loop/ralph"
)

// InsecureVar allows to speak in the clear to a server on another machine.
const InsecureVar = "RALPH_FLEET_INSECURE"

// TLS is how the server at an address is spoken to, by the variables that Temporal's own tools read; nil for in the clear.
func TLS(address string, env func(name string) string) (*tls.Config, error) {
	c, err := settings(env)
	switch {
	case err != nil:
		return nil, err
	case c == nil && env("TEMPORAL_API_KEY") != "":
		c = &tls.Config{MinVersion: tls.VersionTLS12}
	case c == nil && !loopback(address) && env(InsecureVar) == "":
		return nil, &ralph.Refusal{
			Why:  "the Temporal server " + address + " is on another machine, and would be spoken to in the clear",
			Hint: "set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH (mTLS), TEMPORAL_API_KEY, or TEMPORAL_TLS=true; " + InsecureVar + "=1 where the network itself is safe", Kind: ralph.ErrUsage,
		}
	}
	return c, nil
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// settings are nil where nothing asks for TLS.
func settings(env func(name string) string) (*tls.Config, error) {
	cert, key, ca := env("TEMPORAL_TLS_CLIENT_CERT_PATH"), env("TEMPORAL_TLS_CLIENT_KEY_PATH"), env("TEMPORAL_TLS_SERVER_CA_CERT_PATH")
	on := strings.EqualFold(env("TEMPORAL_TLS"), "true") || env("TEMPORAL_TLS") == "1"
	if cert+key+ca == "" && !on {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: env("TEMPORAL_TLS_SERVER_NAME")}
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
