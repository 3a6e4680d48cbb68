package main

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdCrawl: crawl <jar> <url> follows each link that stands on a page of the dashboard, from the
// first page on, with the cookies that `http` keeps in jar. Each has to lead somewhere. Of pages of
// the past only those are read that a page of now leads to. What was read is stdout.
func cmdCrawl(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: crawl <jar> <url>")
	}
	cookie, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	base, err := url.Parse(args[1])
	ts.Check(err)
	c := crawler{cookie: string(cookie), client: &http.Client{Timeout: patience}, from: map[string]string{}}
	c.found(base, "/", "the start")
	for n := 0; n < len(c.next); n++ {
		at := base.ResolveReference(c.next[n])
		status, page, err := c.ask(at)
		ts.Check(err)
		if status != http.StatusOK {
			c.dead = append(c.dead, fmt.Sprintf("%s: %d, from %s", at.RequestURI(), status, c.from[at.RequestURI()]))
			continue
		}
		fmt.Fprintln(ts.Stdout(), at.RequestURI())
		if at.Query().Has("at") {
			continue
		}
		for _, m := range regexp.MustCompile(`\s(?:href|src|data-href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			c.found(at, html.UnescapeString(m[1]), at.RequestURI())
		}
	}
	if len(c.dead) > 0 {
		ts.Fatalf("%d of %d links lead nowhere:\n%s", len(c.dead), len(c.next), strings.Join(c.dead, "\n"))
	}
}

type crawler struct {
	cookie string
	client *http.Client
	next   []*url.URL
	from   map[string]string // where a link was found first
	dead   []string
}

// found notes a link of the dashboard's own.
func (c *crawler) found(on *url.URL, link, page string) {
	u, err := on.Parse(link)
	if err != nil || u.Host != on.Host || u.Scheme != on.Scheme {
		return
	}
	if _, known := c.from[u.RequestURI()]; !known {
		c.from[u.RequestURI()] = page
		c.next = append(c.next, u)
	}
}

// ask reads a page, again while what it shows is worked out in the background.
func (c *crawler) ask(at *url.URL) (int, string, error) {
	for until := time.Now().Add(patience); ; {
		request, err := http.NewRequest(http.MethodGet, at.String(), http.NoBody)
		if err != nil {
			return 0, "", err
		}
		request.Header.Set("Cookie", c.cookie)
		response, err := c.client.Do(request)
		if err != nil {
			return 0, "", err
		}
		page, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || !strings.Contains(string(page), `class="note busy"`) || time.Now().After(until) {
			return response.StatusCode, string(page), err
		}
	}
}
