// Package model asks language models: OpenAI's Responses and chat completions (and whatever
// speaks the latter), Anthropic's Messages, Ollama. It owns the wire of each, one request and
// one response for all, errors by what a person can do about them, and trying again. It does
// not own what is asked and whether the answer is any good: that is its callers'.
package model

import (
	"context"
	"encoding/json"
)

// Client asks one model. It is safe for concurrent use.
type Client interface {
	// Complete asks once, again where that may help (Environment.Tries). An error is an *Error,
	// or the context's own when a person ended it. With a Truncated or Refused one the
	// response is filled as far as there is one.
	Complete(ctx context.Context, r Request) (Response, error)
}

// Request is one question. The zero value of a field leaves the choice to the provider.
type Request struct {
	System   string
	Messages []Message
	Tools    []Tool
	Schema   *Schema // the answer is JSON by this schema; servers may ignore it: validate

	MaxTokens   int // of the answer; Anthropic wants one, which is 8192 then
	Temperature *float64
	Seed        *int64
}

// Role says whose words a message is.
type Role string

// The roles of a conversation. What holds for all of it is Request.System.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Result    Role = "tool"
)

// Message is one part of the conversation.
type Message struct {
	Role  Role   `json:"role"`
	Text  string `json:"text,omitempty"`
	Calls []Call `json:"calls,omitempty"` // of the assistant

	CallID string `json:"call_id,omitempty"` // of a Result: which call it answers
	Tool   string `json:"tool,omitempty"`    // of a Result: the tool's name
	Failed bool   `json:"failed,omitempty"`  // of a Result
}

// Tool is what the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON schema of an object
}

// Call is the model's wish to have a tool run. Arguments are JSON: where the model wrote none,
// the text that it wrote as a string of JSON.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Schema is what a structured answer looks like. The name is of letters, digits, _ and -.
type Schema struct {
	Name string
	JSON json.RawMessage
}

// Stop is why the model stopped.
type Stop string

// The reasons to stop, for all providers.
const (
	End     Stop = "end"
	ToolUse Stop = "tool"
	Length  Stop = "length"
	Refusal Stop = "refusal"
)

// Response is the model's answer.
type Response struct {
	Text  string
	Calls []Call
	Stop  Stop
	Model string // what answered, as the provider names it
	Usage Usage
	Tries int    // how often was asked
	Raw   []byte // what the provider wrote: its beginning, at most MaxRaw, without the key
}

// Message is the answer as a part of the conversation that goes on.
func (r Response) Message() Message {
	return Message{Role: Assistant, Text: r.Text, Calls: r.Calls}
}

// Usage counts tokens. Input has all that was read, Cached what of it came from a cache,
// Written what was put there. Output has Reasoning.
type Usage struct {
	Input, Cached, Written, Output, Reasoning int64
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Cached + v.Cached, u.Written + v.Written, u.Output + v.Output, u.Reasoning + v.Reasoning}
}
