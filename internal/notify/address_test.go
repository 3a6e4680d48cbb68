package notify

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// Which service an address is for, how it is called, and what is refused. Neither
// names nor errors hold a secret.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ setting, name, url, wrong string }{
		{"https://example.com/hook/sekret?key=sekret", "https example.com", "https://example.com/hook/sekret?key=sekret", ""},
		{"http://ada:sekret@10.0.0.1:8080/x", "http 10.0.0.1", "http://ada:sekret@10.0.0.1:8080/x", ""},
		{"https://hooks.slack.com/services/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", "slack hooks.slack.com", "slack://hook:T0SEKRET0-B0SEKRET0-sekretsekretsekretsekret@webhook", ""},
		{"https://hooks.slack.com/triggers/T0/1/sekret", "https hooks.slack.com", "https://hooks.slack.com/triggers/T0/1/sekret", ""},
		{"slack://hook:T0SEKRET0-B0SEKRET0-sekretsekretsekretsekret@webhook", "slack", "slack://hook:T0SEKRET0-B0SEKRET0-sekretsekretsekretsekret@webhook", ""},
		{"https://discord.com/api/webhooks/12345/sekret", "discord discord.com", "discord://sekret@12345", ""},
		{"https://ptb.discord.com/api/v10/webhooks/12345/sekret?thread_id=7", "discord ptb.discord.com", "discord://sekret@12345?thread_id=7", ""},
		{"https://notdiscord.com/api/webhooks/12345/sekret", "https notdiscord.com", "https://notdiscord.com/api/webhooks/12345/sekret", ""},
		{"https://ntfy.sh/sekret", "ntfy ntfy.sh", "ntfy://ntfy.sh/sekret", ""},
		{"http://ntfy.example.com:8080/sekret?priority=4", "ntfy ntfy.example.com", "ntfy://ntfy.example.com:8080/sekret?priority=4&scheme=http", ""},
		{"https://ntfy.sh/", "https ntfy.sh", "https://ntfy.sh/", ""},
		{"telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw@telegram?chats=@sekret", "telegram", "telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw@telegram?chats=@sekret", ""},
		{"generic+https://example.com/sekret", "generic+https", "generic+https://example.com/sekret", ""},

		{"sekret", "", "", "is no address"},
		{"https:///sekret", "", "", "has no host"},
		{"slak://hook:sekret@webhook", "", "", `is for "slak", which is not known; known are http, https, bark, discord,`},
		{"logger://", "", "", `is for "logger", which is not known`},
		{"slack://hook:sekret@webhook", "", "", "is not right for slack: "},
		{"ntfy://ntfy.sh/?password=sekret", "", "", "is not right for ntfy: "},
		{"https://ntfy.sh/topic?sekret=sekret", "", "", "is not right for ntfy: "},
		{"discord://sekret", "", "", "is not right for discord: "},
	} {
		a, err := parse(tt.setting)
		if tt.wrong == "" {
			if err != nil || a.name != tt.name || a.url != tt.url {
				t.Errorf("%s: %q %q %v", tt.setting, a.name, a.url, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), tt.wrong) || strings.Contains(strings.ToLower(err.Error()), "sekret") {
			t.Errorf("%s: %v\nwant %s", tt.setting, err, tt.wrong)
		}
	}
}

// Errors of the library and of net/http name addresses: only service and host stay.
func TestMasked(t *testing.T) {
	t.Parallel()
	a, err := parse("https://hooks.slack.com/services/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")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range [][2]string{
		{`Post "https://hooks.slack.com/services/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": EOF`, `Post "https://hooks.slack.com/***": EOF`},
		{"for https://ada:sekret@example.com:8443/x?key=1, no", "for https://example.com:8443/*** no"},
		{"token T0SEKRET0-B0SEKRET0-sekretsekretsekretsekret, or sekretsekretsekretsekret", "token ***-***-***, or ***"},
		{"slack://hook:T0SEKRET0@webhook is wrong", "slack://*** is wrong"},
		{"nothing\nspecial", "nothing special"},
	} {
		if got := a.masked(errors.New(tt[0])).Error(); got != tt[1] {
			t.Errorf("got  %s\nwant %s", got, tt[1])
		}
	}
}

// A wrong address is refused by its number, two of a kind are told apart, and Look
// says of all of them what it sees.
func TestOpenWebhooks(t *testing.T) {
	t.Parallel()
	_, err := Open(Options{Webhooks: []string{"https://a.example", "slak://sekret"}})
	var refusal *ralph.Refusal
	if !errors.As(err, &refusal) || !strings.HasPrefix(refusal.Why, "item 2 of `notify.webhooks` is for \"slak\"") {
		t.Errorf("%v", err)
	}
	c, err := Open(Options{Webhooks: []string{"https://a.example/1", "https://b.example", "https://a.example/2"}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range c.Letters {
		names = append(names, l.sink.Name(), l.Name())
	}
	if got := strings.Join(names, ", "); got != "https a.example, notice-https-a.example, https b.example, notice-https-b.example, https a.example #2, notice-https-a.example--2" {
		t.Error(got)
	}
	seen := Look(Options{Webhooks: []string{"https://a.example/1", "slak://sekret"}, Sounds: true, Desktop: true, Environ: []string{"PATH=/nowhere"}})
	if len(seen) != 4 || seen[0].Error == "" || seen[1].Error == "" || seen[2].Saw != "https a.example" || !strings.HasPrefix(seen[3].Error, "it is for") {
		t.Errorf("%+v", seen)
	}
	if text := fmt.Sprintf("%+v", seen); strings.Contains(text, "sekret") {
		t.Error(text)
	}
}
