package agent

import (
	"testing"

	"github.com/ralph-loop/ralph"
)

// One sample that matches and one near miss per pattern of document A.
func TestClassify(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ralph.ErrorClass{
		"Rate limit reached":                  ralph.ErrClassLimit,
		"rate-limited, wait":                  ralph.ErrClassLimit,
		"error: rate_limit_error":             ralph.ErrClassLimit,
		"cannot build package ratelimit":      ralph.ErrClassOther,
		"Too Many Requests":                   ralph.ErrClassLimit,
		"too many open requests":              ralph.ErrClassOther,
		"status 429":                          ralph.ErrClassLimit,
		"line 4291":                           ralph.ErrClassOther,
		"model overloaded":                    ralph.ErrClassBusy,
		"ambiguous overloadedness":            ralph.ErrClassOther,
		"Quota exceeded":                      ralph.ErrClassLimit,
		"disk quota is low":                   ralph.ErrClassOther,
		"anthropic: your rate is too high":    ralph.ErrClassLimit,
		"anthropic client generated an error": ralph.ErrClassOther,
		"OpenAI says: rate too high":          ralph.ErrClassLimit,
		"openai integrated badly":             ralph.ErrClassOther,
		"ECONNREFUSED 127.0.0.1":              ralph.ErrClassOther,
		"401 Unauthorized":                    ralph.ErrClassAuth,
		"Error: Invalid API key provided":     ralph.ErrClassAuth,
		"Incorrect API key provided.":         ralph.ErrClassAuth,
		"4010 unauthorized edits":             ralph.ErrClassOther,
		"":                                    ralph.ErrClassOther,
	} {
		if got := classify(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
