package model_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/model"
)

// Models are spelled provider:model; the model's own name may have colons.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]model.Spec{
		"openai:gpt-5": {Provider: model.OpenAI, Model: "gpt-5"}, "responses:gpt-5": {Provider: model.Responses, Model: "gpt-5"},
		"anthropic:claude-sonnet-4-5\n": {Provider: model.Anthropic, Model: "claude-sonnet-4-5"}, "ollama:qwen3:8b": {Provider: model.Ollama, Model: "qwen3:8b"},
	} {
		got, err := model.Parse(text)
		if err != nil || got != want || got.String() != strings.TrimSpace(text) {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "gpt-5", "openai:", ":x", "OpenAI:x", "gemini:x"} {
		if _, err := model.Parse(text); err == nil || !strings.Contains(err.Error(), "ollama:qwen3") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Keys come from the variable that is named, and go where they belong.
func TestKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec model.Spec
		key  string
		err  string
	}{
		"own":           {model.Spec{Provider: model.OpenAI}, "OPENAI_API_KEY", ""},
		"own, named":    {model.Spec{Provider: model.Anthropic, BaseURL: "https://api.anthropic.com/"}, "ANTHROPIC_API_KEY", ""},
		"elsewhere":     {model.Spec{Provider: model.OpenAI, BaseURL: "https://other.example/v1"}, "", ""},
		"named":         {model.Spec{Provider: model.OpenAI, BaseURL: "https://other.example/v1", KeyEnv: "OTHER"}, "OTHER", ""},
		"local":         {model.Spec{Provider: model.Ollama}, "", ""},
		"in the clear":  {model.Spec{Provider: model.OpenAI, BaseURL: "http://gpu.example:8000/v1", KeyEnv: "OTHER"}, "OTHER", "unencrypted"},
		"no key":        {model.Spec{Provider: model.OpenAI, BaseURL: "http://gpu.example:8000/v1"}, "", ""},
		"on loopback":   {model.Spec{Provider: model.OpenAI, BaseURL: "http://[::1]:8000/v1", KeyEnv: "OTHER"}, "OTHER", ""},
		"in the URL":    {model.Spec{Provider: model.OpenAI, BaseURL: "https://me:pass@other.example/v1"}, "", "password"},
		"no URL":        {model.Spec{Provider: model.OpenAI, BaseURL: "other.example/v1"}, "", "no base URL"},
		"no provider":   {model.Spec{Provider: "gemini"}, "", "no model"},
		"the key lacks": {model.Spec{Provider: model.OpenAI, KeyEnv: "EMPTY"}, "EMPTY", "variable EMPTY"},
	} {
		c.spec.Model = "m"
		_, err := model.Open(c.spec, model.Environment{Getenv: func(name string) string {
			if name == "EMPTY" {
				return " "
			}
			return key
		}})
		if (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v", name, err)
		}
		if c.spec.Provider != "gemini" && c.spec.Key() != c.key {
			t.Errorf("%s: the key is in %q", name, c.spec.Key())
		}
	}
}
