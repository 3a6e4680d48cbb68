package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph/internal/redact"
)

const (
	key    = "sk-canary/0+Q7x\"zw81"
	pem    = "-----BEGIN PRIVATE KEY-----\nMIIBVwIBADANBgkqhkiG9w0\nq7Jx9LmN3vRt5yUw\n-----END PRIVATE KEY-----"
	marked = "***[MY_KEY]"
)

func redactor(find func(string) []redact.Secret) *redact.Redactor {
	return redact.New([]redact.Secret{{Name: "MY_KEY", Value: key}, {Name: "MY_PEM", Value: pem}, {Name: "SHORT", Value: "true"}}, find)
}

// S10: a value is taken out in every form in which programs write it, and nothing else is.
func TestString(t *testing.T) {
	t.Parallel()
	r := redactor(nil)
	inJSON, err := json.Marshal("a " + key)
	if err != nil {
		t.Fatal(err)
	}
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, text := range []string{
		key, "x=" + key + "y", string(inJSON), "q=sk-canary%2F0%2BQ7x%22zw81", b64(key), b64("u:" + key), b64("us:" + key + "\n"),
		base64.URLEncoding.EncodeToString([]byte(key)), "736b2d63616e6172792f302b513778227a773831",
	} {
		if got := r.String(text); !strings.Contains(got, marked) {
			t.Errorf("%q stays: %q", text, got)
		}
	}
	for text, want := range map[string]string{
		"push https://user:tok12345@h/x.git":   "push https://***[credentials]@h/x.git",
		"push https://tok12345@h/x.git":        "push https://***[credentials]@h/x.git",
		`"https:\/\/u:p@ss@h\/x"`:              `"https:\/\/***[credentials]@h\/x"`,
		"postgres://a:b@h/db":                  "postgres://***[credentials]@h/db",
		"http://h/hook?a=1&token=tokWEB12&b=":  "http://h/hook?a=1&token=***[token]&b=",
		"a\n" + pem + "\nb":                    "a\n***[MY_PEM]\nb",
		"q7Jx9LmN3vRt5yUw":                     "***[MY_PEM]",
		"-----BEGIN RSA PRIVATE KEY-----\nhal": "***[private-key]",
		// no secrets
		"ssh://git@host/x true git@host:a/b https://h/a@v1 #@ a@b.c": "ssh://git@host/x true git@host:a/b https://h/a@v1 #@ a@b.c",
		"": "",
	} {
		if got := r.String(text); got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
		if again := r.String(r.String(text)); again != r.String(text) {
			t.Errorf("%q twice: %q", text, again)
		}
	}
	var none *redact.Redactor
	if none.String(key) != key || redact.Value(none, key) != key {
		t.Error("no redactor takes something out")
	}
}

type id string

type inner struct {
	Text string
	List []string
	Any  any
}

type outer struct {
	ID     id
	At     time.Time
	In     *inner
	Map    map[string]string
	Raw    json.RawMessage
	hidden string
}

// S10: structures are taken through whole, and are not changed themselves.
func TestValue(t *testing.T) {
	t.Parallel()
	r := redactor(nil)
	raw, err := json.Marshal(map[string]any{"n": json.Number("12345678901234567890"), "k": key})
	if err != nil {
		t.Fatal(err)
	}
	o := outer{"an-id-of-some-length", time.Unix(1, 0), &inner{key, []string{"a", key}, inner{Text: key}}, map[string]string{key: key}, raw, key}
	got := redact.Value(r, o)
	shown, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"ID":"an-id-of-some-length","At":` + string(mustJSON(t, o.At)) + `,"In":{"Text":"***[MY_KEY]","List":["a","***[MY_KEY]"],"Any":{"Text":"***[MY_KEY]","List":null,"Any":null}},"Map":{"***[MY_KEY]":"***[MY_KEY]"},"Raw":{"k":"***[MY_KEY]","n":12345678901234567890}}`
	if string(shown) != want {
		t.Errorf("got  %s\nwant %s", shown, want)
	}
	if o.In.Text != key || o.In.List[1] != key || got.hidden != key {
		t.Error("the original has changed")
	}
	clean := &inner{Text: "nothing here"}
	if redact.Value(r, clean) != clean {
		t.Error("what has no secret was copied")
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// S10: however a stream is cut, the result is that of the whole text, also of a line without end.
func TestWriter(t *testing.T) {
	t.Parallel()
	r := redactor(nil)
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"word ", "\n", key, "https://u:tok12345@h/ ", pem, "sk-can", "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\n"}), 1, 30).Draw(rt, "parts"), "")
		var b bytes.Buffer
		w := r.Writer(&b)
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 40)).Draw(rt, "n")
			if _, err := w.Write(rest[:n]); err != nil {
				rt.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			rt.Fatal(err)
		}
		if got := b.String(); strings.Contains(got, key) || strings.Contains(got, "tok12345") || strings.Contains(got, "q7Jx9LmN3vRt5yUw") {
			rt.Fatalf("%q leaves %q", text, got)
		}
	})
	for shift := range 64 {
		var b bytes.Buffer
		w := r.Writer(&b)
		line := strings.Repeat("x", 300<<10-16-8<<10+shift) + key + strings.Repeat("y", 300<<10)
		for i := 0; i < len(line); i += 4096 {
			if _, err := w.Write([]byte(line[i:min(len(line), i+4096)])); err != nil {
				t.Fatal(err)
			}
		}
		if b.Len() == 0 {
			t.Fatal("a line without end is held whole")
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if want := strings.Replace(line, key, marked, 1); b.String() != want {
			t.Fatalf("shift %d: %d bytes, want %d", shift, b.Len(), len(want))
		}
	}
}

// What finds secrets by their looks is asked of suspicious lines alone.
func TestFind(t *testing.T) {
	t.Parallel()
	asked := ""
	r := redactor(func(text string) []redact.Secret {
		asked += text
		if i := strings.Index(text, "tok_"); i >= 0 {
			return []redact.Secret{{Name: "a-rule", Value: text[i : i+16]}}
		}
		return nil
	})
	if got := r.String("plain words 645ca02 20260101T000000Z build/x-20260101T000000Z.log\n"); asked != "" || strings.Contains(got, "*") {
		t.Errorf("%q, asked %q", got, asked)
	}
	if r.String("0123456789abcdef0123456789abcdef01234567"); asked != "" {
		t.Error("asked of a hash")
	}
	got := r.String("one\ntwo\nthree tok_abcdef123456 tok_abcdef123456\nfour\nfive\nsix tok_abcdef123457andmore9\n")
	if got != "one\ntwo\nthree ***[a-rule] ***[a-rule]\nfour\nfive\nsix ***[a-rule]\n" || strings.Contains(asked, "one") {
		t.Errorf("%q, asked %q", got, asked)
	}
}

// BenchmarkValue: a fact without a secret.
func BenchmarkValue(b *testing.B) {
	r := redactor(func(string) []redact.Secret { return nil })
	o := outer{"an-id", time.Unix(1, 0), &inner{"words of an agent, some hundred of them", []string{"a", "go test ./..."}, nil}, nil, nil, ""}
	for b.Loop() {
		redact.Value(r, any(o))
	}
}

// BenchmarkString: 64 KiB of output without a secret.
func BenchmarkString(b *testing.B) {
	r := redactor(func(string) []redact.Secret { return nil })
	text := strings.Repeat("--- PASS: TestSomething (0.01s) and words that follow it\n", 64<<10/57)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.String(text)
	}
}

// What is looked at with a step for each ten characters is what each character by itself tells: S10.
func TestSuspicious(t *testing.T) {
	t.Parallel()
	plainly := func(text string) bool {
		for _, run := range strings.FieldsFunc(text, func(c rune) bool {
			return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
		}) {
			letters := strings.Map(func(c rune) rune {
				if c <= '9' {
					return -1
				}
				return c
			}, run)
			hash := strings.Trim(strings.ToLower(letters), "abcdef") == "" && len(run) == len(text) // and nothing beside it
			if len(run) >= 10 && len(letters) >= 3 && len(letters) < len(run) && !hash {
				return true
			}
		}
		return false
	}
	rapid.Check(t, func(t *rapid.T) {
		// Runs of about ten of few signs, hashes among them, and all kinds of signs between.
		runs := rapid.SampledFrom([]string{"09afAF", "agz7", "QZ0123", "abc"})
		text := ""
		for range rapid.IntRange(0, 4).Draw(t, "runs") {
			signs := []rune(runs.Draw(t, "signs"))
			text += rapid.StringOfN(rapid.SampledFrom(signs), 8, 12, -1).Draw(t, "run") + rapid.StringOfN(rapid.SampledFrom([]rune("-@[`{/:é ")), 0, 12, -1).Draw(t, "between")
		}
		if got, want := redact.Suspicious(text), plainly(text); got != want {
			t.Fatalf("%q: %t, want %t", text, got, want)
		}
	})
}
