package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/discord"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
	"github.com/nicholas-fedor/shoutrrr/pkg/util/jsonclient"
)

// hook posts messages as JSON to a plain https address.
type hook struct {
	address
	client *http.Client
}

func newHook(a address) *hook {
	return &hook{a, &http.Client{
		// A POST that is redirected may become a GET, which an address answers with
		// 200 and does nothing.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (h *hook) Send(ctx context.Context, m Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return permanent{fmt.Errorf("write a message: %w", err)}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return permanent{h.masked(err)}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "ralph")
	res, err := h.client.Do(req)
	if err != nil {
		return h.masked(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
	return answer(res.StatusCode, res.Status)
}

// answer is what a status means: nil, an error that may pass, or one that stays.
func answer(code int, status string) error {
	err := fmt.Errorf("it answered %s", status)
	switch {
	case code >= 200 && code < 300:
		return nil
	case passes(code):
		return err
	}
	return permanent{err}
}

// passes reports whether a request with this answer is worth another try.
func passes(code int) bool {
	return code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500
}

// service is a service of the library: Slack, ntfy, Discord and many more.
type service struct{ address }

// Send makes the library's service anew for each message: some of them keep
// headers of the message before.
func (s *service) Send(ctx context.Context, m Message) error {
	made, err := open(s.url)
	if err != nil {
		return permanent{s.masked(err)}
	}
	if d, ok := made.(*discord.Service); ok {
		// It tries again by itself for minutes. Bound to ctx it can send nothing more
		// once we have given it up, or a person would get the message twice.
		b := bound{ctx}
		d.HTTPClient, d.Sleeper = b, b
	}
	text, params := plain(m.Head()+"\n"+m.Text()), types.Params{}
	if s.titled() {
		text = plain(m.Text())
		params.SetTitle(plain(m.Head()))
	}
	return abandon(ctx, func() error {
		err := made.Send(text, &params)
		if err == nil {
			return nil
		}
		var at jsonclient.Error
		if never := (permanent{}); errors.As(err, &never) || errors.As(err, &at) && !passes(at.StatusCode) {
			return permanent{s.masked(err)}
		}
		return s.masked(err)
	})
}

// titled reports whether the service shows a title of its own.
func (s *service) titled() bool { return s.kind == "slack" || s.kind == "ntfy" || s.kind == "discord" }

// open makes a service of an address of the library's form. The library's router
// would keep to itself what is wrong with one; it is asked for those alone that
// stand for another address, like generic+https.
func open(setting string) (types.Service, error) {
	r := &router.ServiceRouter{}
	kind, u, err := r.ExtractServiceName(setting)
	if err != nil {
		return nil, err
	}
	if kind != u.Scheme {
		return r.Locate(setting)
	}
	made, err := r.NewService(kind)
	if err != nil {
		return nil, err
	}
	return made, made.Initialize(u, nil)
}

// plain takes away what chat services read as a call to everybody: agents may
// have written it.
func plain(text string) string {
	return strings.NewReplacer("<", "‹", ">", "›", "@everyone", "@ everyone", "@here", "@ here", "@channel", "@ channel").Replace(text)
}

// bound is an HTTP client and a pause that end with ctx.
type bound struct {
	ctx context.Context //nolint:containedctx // the library's interfaces have no place for it
}

// Do sends a request. An answer that says no is an error, so that the library
// leaves the next try to us.
func (b bound) Do(req *http.Request) (*http.Response, error) {
	res, err := http.DefaultClient.Do(req.WithContext(b.ctx))
	if err != nil {
		return nil, err
	}
	if err := answer(res.StatusCode, res.Status); err != nil {
		_ = res.Body.Close()
		return nil, err
	}
	return res, nil
}

// Sleep waits, but not beyond ctx.
func (b bound) Sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-b.ctx.Done():
	}
}
