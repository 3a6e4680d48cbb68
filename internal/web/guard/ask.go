package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"
)

// askEvery is how often one looks for the address of a process that has just begun.
const askEvery = 50 * time.Millisecond

// Entry is a way in to a dashboard that another process serves.
type Entry struct {
	Running
	URL  string
	Link string // one-time
}

// Ask asks the process that has the lock for a new one-time link. It waits for one that
// has only just begun, as long as ctx lasts.
func Ask(ctx context.Context, dir string) (Entry, error) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		r, err := read(filepath.Join(dir, FileName))
		if err == nil && r.Address != "" {
			var e Entry
			if e, err = ask(ctx, r); err == nil {
				return e, nil
			}
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return Entry{Running: r.Running}, fmt.Errorf("ask the dashboard that is served for a link: %w", err)
		case <-tick.C:
		}
	}
}

func ask(ctx context.Context, r record) (Entry, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+reach(r.Address)+"/enter", http.NoBody)
	if err != nil {
		return Entry{}, err
	}
	request.Header.Set("Authorization", "Bearer "+r.Token)
	client := &http.Client{ // straight there: no proxy is to see the token
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return Entry{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return Entry{}, fmt.Errorf("it answers %s", response.Status)
	}
	var a answer
	if err := json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(&a); err != nil {
		return Entry{}, fmt.Errorf("read its answer: %w", err)
	}
	return Entry{r.Running, a.URL, a.Link}, nil
}
