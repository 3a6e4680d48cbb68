package model

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Provider is a way to ask: a wire format, with an address and a key by default.
type Provider string

// The providers.
const (
	OpenAI    Provider = "openai"    // chat completions, also of compatible servers
	Responses Provider = "responses" // OpenAI's Responses
	Anthropic Provider = "anthropic" // Messages
	Ollama    Provider = "ollama"    // its own API, on this machine by default
)

// Providers are all that there are.
func Providers() []Provider { return []Provider{OpenAI, Responses, Anthropic, Ollama} }

// Spec says which model is asked, and where. Only the first two are needed.
type Spec struct {
	Provider Provider
	Model    string
	BaseURL  string // as the provider's own libraries want it: with /v1 for OpenAI, without for the others
	KeyEnv   string // the variable that holds the key; "" is the provider's own, which other addresses never get
	Context  int    // tokens that the model can hold; Ollama alone is told, 0: OllamaContext
}

// Parse reads a model as settings spell it: openai:gpt-5, ollama:qwen3:8b.
func Parse(text string) (Spec, error) {
	provider, name, found := strings.Cut(strings.TrimSpace(text), ":")
	s := Spec{Provider: Provider(provider), Model: name}
	if !found || name == "" || !slices.Contains(Providers(), s.Provider) {
		return Spec{}, fmt.Errorf("%q is no model: write provider:model, such as openai:gpt-5, anthropic:claude-sonnet-4-5 or ollama:qwen3; providers are openai, responses, anthropic and ollama", text)
	}
	return s, nil
}

// String is the model as settings spell it.
func (s Spec) String() string {
	if s.Model == "" {
		return string(s.Provider)
	}
	return string(s.Provider) + ":" + s.Model
}

// own is where a provider's own servers are, and the variable that its key is in.
func (p Provider) own() (base, key string) {
	switch p {
	case OpenAI, Responses:
		return "https://api.openai.com/v1", "OPENAI_API_KEY"
	case Anthropic:
		return "https://api.anthropic.com", "ANTHROPIC_API_KEY"
	}
	return "http://127.0.0.1:11434", ""
}

// Remote reports whether the model is asked beyond this machine.
func (s Spec) Remote() bool {
	base, _ := s.Provider.own()
	if s.BaseURL != "" {
		base = s.BaseURL
	}
	u, err := url.Parse(base)
	return err != nil || !loopback(u.Hostname())
}

// Key is the variable that holds the key, "" for none. The provider's own variable is for the
// provider's own servers: a key goes to no other address unless settings name it.
func (s Spec) Key() string {
	base, key := s.Provider.own()
	if s.KeyEnv != "" || (s.BaseURL != "" && strings.TrimRight(s.BaseURL, "/") != base) {
		return s.KeyEnv
	}
	return key
}

// address is where requests go. A key crosses no network in the clear.
func (s Spec) address() (string, error) {
	base, _ := s.Provider.own()
	if s.BaseURL != "" {
		base = strings.TrimRight(s.BaseURL, "/")
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("the address of %s is no base URL: write one such as https://host/v1", s)
	}
	if u.User != nil {
		return "", fmt.Errorf("the address of %s has a password: name the variable that holds the key (key_env)", s)
	}
	if u.Scheme == "http" && s.Key() != "" && !loopback(u.Hostname()) {
		return "", fmt.Errorf("the key in %s would go to %s unencrypted: use https, or leave the key out", s.Key(), u.Host)
	}
	return base, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
