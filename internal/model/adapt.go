package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// fallback is what a server turned out to lack: it says so in an error, and the client goes on
// without. Bits, kept for the life of the client.
type fallback int32

const (
	noTemperature fallback = 1 << iota // models that reason take none
	noSeed
	noSchema     // OpenAI: JSON without a schema; Anthropic: a tool that has to be called
	noFormat     // not even that: the schema stands in the prompt alone
	oldMaxTokens // OpenAI: max_tokens where max_completion_tokens is wanted, and the other way round
)

func (f fallback) has(bit fallback) bool { return f&bit != 0 }

// adapt asks, and once more without what the server says it does not take. Each time one thing
// less: it ends.
func (c *client) adapt(ctx context.Context, r Request) (Response, error) {
	for {
		how := fallback(c.how.Load())
		res, err := c.once(ctx, r, how)
		if err == nil {
			return res, nil
		}
		e, ours := errors.AsType[*Error](err)
		if !ours || e.Kind != Rejected {
			return res, err
		}
		said, told := errors.AsType[rejection](e)
		less := how | lacking(said.failure, r, how)
		if !told || less == how {
			return res, err
		}
		c.how.Or(int32(less))
	}
}

// lacking reads out of a rejection what the server does not take, of what it was sent.
func lacking(f failure, r Request, how fallback) fallback {
	said := strings.ToLower(f.param + " " + f.text)
	names := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(said, w) {
				return true
			}
		}
		return false
	}
	switch {
	case r.Temperature != nil && !how.has(noTemperature) && names("temperature"):
		return noTemperature
	case r.Seed != nil && !how.has(noSeed) && names("seed"):
		return noSeed
	case r.MaxTokens > 0 && !how.has(oldMaxTokens) && names("max_tokens", "max_completion_tokens") && names("unsupported", "not supported", "unrecognized", "unknown", "extra"):
		return oldMaxTokens
	case r.Schema != nil && names("response_format", "output_config", "output_format", "text.format", "json_schema", "schema"):
		if !how.has(noSchema) {
			return noSchema
		}
		return noFormat
	}
	return 0
}

// system is the system prompt, with the schema in words for servers that take none.
func system(r Request, how fallback) string {
	if r.Schema == nil || !how.has(noSchema|noFormat) {
		return r.System
	}
	ask := "Answer with one JSON object and nothing else. It must be valid by this JSON schema:\n" + string(r.Schema.JSON)
	return strings.TrimSpace(r.System + "\n\n" + ask)
}

// strict reports whether OpenAI takes the schema as a promise: each object says all of its
// properties, and that there are no others.
func strict(schema json.RawMessage) bool {
	var node any
	if json.Unmarshal(schema, &node) != nil {
		return false
	}
	return strictIn(node)
}

func strictIn(node any) bool {
	switch n := node.(type) {
	case []any:
		for _, x := range n {
			if !strictIn(x) {
				return false
			}
		}
	case map[string]any:
		if properties, is := n["properties"].(map[string]any); is || n["type"] == "object" {
			required, _ := n["required"].([]any)
			if n["additionalProperties"] != false || len(required) != len(properties) {
				return false
			}
		}
		for key, x := range n {
			if key != "enum" && key != "const" && key != "default" && key != "examples" && !strictIn(x) {
				return false
			}
		}
	}
	return true
}

// arguments are a call's arguments as JSON: what is none becomes a string of it.
func arguments(written string) json.RawMessage {
	trimmed := strings.TrimSpace(written)
	if trimmed == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	b, _ := json.Marshal(written) //nolint:errchkjson // a string always is
	return b
}

// asObject are arguments where a provider takes nothing but an object.
func asObject(args json.RawMessage) json.RawMessage {
	if trimmed := bytes.TrimSpace(args); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		return args
	}
	b, err := json.Marshal(map[string]json.RawMessage{"text": args})
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}

// count is a number of tokens as servers write them. What is none, or cannot be, is 0.
type count int64

func (c *count) UnmarshalJSON(b []byte) error {
	var n float64
	if json.Unmarshal(b, &n) == nil && n >= 0 && n < 1e12 {
		*c = count(n)
	}
	return nil
}
