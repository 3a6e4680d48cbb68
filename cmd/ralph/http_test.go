package main

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdHTTP: http <status> <jar> <method> <url> [header or form value ...] asks as a
// browser would that keeps its cookies in the file jar ("-" for none). "Name: value" is
// a header, "name=value" goes into a form; "form" makes it one that a page of the
// dashboard sends, with the token of the last page that was looked at. The answer's
// headers and text are stdout.
func cmdHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: http <status> <jar> <method> <url> [header or form value ...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var form []string
	header := http.Header{}
	jar := ts.MkAbs(args[1])
	for _, arg := range args[4:] {
		if arg == "form" {
			token, err := os.ReadFile(jar + ".csrf")
			ts.Check(err)
			form = append(form, "csrf="+string(token))
			header.Add("Sec-Fetch-Site", "same-origin")
			continue
		}
		if name, value, ok := strings.Cut(arg, ": "); ok {
			header.Add(name, value)
			continue
		}
		form = append(form, arg)
	}
	request, err := http.NewRequest(args[2], args[3], strings.NewReader(strings.Join(form, "&")))
	ts.Check(err)
	request.Header = header
	if len(form) > 0 {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if host := header.Get("Host"); host != "" {
		request.Host = host
	}
	if b, err := os.ReadFile(jar); err == nil && args[1] != "-" {
		request.Header.Set("Cookie", string(b))
	}
	client := &http.Client{
		Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	ts.Check(err)
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	ts.Check(err)
	ts.Check(response.Header.Write(ts.Stdout()))
	_, err = ts.Stdout().Write(append([]byte("\n"), text...))
	ts.Check(err)
	if c := response.Cookies(); len(c) > 0 && args[1] != "-" {
		ts.Check(os.WriteFile(jar, []byte(c[0].Name+"="+c[0].Value), 0o600))
	}
	if m := regexp.MustCompile(`data-csrf="([^"]+)"`).FindSubmatch(text); m != nil && args[1] != "-" {
		ts.Check(os.WriteFile(jar+".csrf", m[1], 0o600))
	}
	if response.StatusCode != want {
		ts.Fatalf("%s %s: %s, want %d\n%s", args[2], args[3], response.Status, want, text)
	}
}
