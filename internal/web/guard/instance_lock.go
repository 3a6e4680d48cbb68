package guard

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// version of web.json that this program writes, and the only one that it reads.
const version = 1

const (
	// FileName is that of the secrets in ralph/.state.
	FileName = "web.json"
	lockName = "web.lock"
	secret   = 32 // bytes of a key or a token
)

// ErrTaken: another process serves this repository's dashboard; Ask it.
var ErrTaken = errors.New("another process serves the dashboard of this repository")

// ErrForeign: web.json is of another version of ralph.
var ErrForeign = errors.New("ralph/.state/web.json is of another version of ralph")

// Running is who serves a dashboard, and where.
type Running struct {
	Address   string    `json:"address,omitempty"` // host:port; "" while nobody serves
	Pid       int       `json:"pid,omitempty"`
	Command   string    `json:"command,omitempty"` // of ralph: serve, agent, ...
	StartedAt time.Time `json:"started_at,omitzero"`
	Build     string    `json:"build,omitempty"`
}

// record is ralph/.state/web.json. Whoever may read it may act as the person, so only
// its owner may.
type record struct {
	Version int `json:"version"`
	Running
	Last  string `json:"last,omitempty"` // address at which it was served before
	Token string `json:"token"`          // of programs: Authorization: Bearer
	Key   string `json:"key"`            // signs cookies
}

// InstanceLock is the right to serve a repository's dashboard, with the secrets that outlive
// the process: pages that are open go on working when ralph is started again.
type InstanceLock struct {
	path    string
	lock    *flock.Flock
	record  record
	renewed bool
}

// Take takes the lock of the repository whose state is in dir. The kernel gives it back
// when this process dies, however that happens. ErrTaken says that somebody has it.
func Take(dir string) (*InstanceLock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of ralph's state: %w", err)
	}
	s := &InstanceLock{path: filepath.Join(dir, FileName), lock: flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))}
	free, err := s.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the dashboard: %w", err)
	}
	if !free {
		return nil, ErrTaken
	}
	old, err := read(s.path)
	if errors.Is(err, ErrForeign) {
		return nil, errors.Join(err, s.lock.Close())
	}
	s.renewed = err != nil && !errors.Is(err, fs.ErrNotExist)
	s.record = record{Version: version, Last: old.Last, Token: old.Token, Key: old.Key}
	if err != nil {
		s.record.Token, s.record.Key = random(), random()
	}
	if err := s.write(); err != nil { // without an address: the one that stood there is nobody's now
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

// Renewed reports whether the secrets were broken and are new: all who came in before
// need a new link.
func (s *InstanceLock) Renewed() bool { return s.renewed }

// Last is the address at which the dashboard was served before, where open pages look
// for it; "" for none.
func (s *InstanceLock) Last() string { return s.record.Last }

// Announce tells other processes who serves, and where.
func (s *InstanceLock) Announce(r Running) error {
	s.record.Running, s.record.Last = r, r.Address
	return s.write()
}

// Leave gives the lock back. The secrets stay.
func (s *InstanceLock) Leave() error {
	s.record.Running = Running{}
	return errors.Join(s.write(), s.lock.Close())
}

func (s *InstanceLock) write() error {
	b, err := json.MarshalIndent(s.record, "", "  ")
	if err == nil {
		err = replace(s.path, append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write ralph/.state/%s: %w", FileName, err)
	}
	return nil
}

// replace puts a text in the place of the old one, with a mode of its own: somebody may
// have made the old one readable to all. An ordinary file is written as it stands: a sandbox
// hides it by mounting something over it, and a new file in its place would be seen.
func replace(path string, text []byte) error {
	if f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0); err == nil {
		info, err := f.Stat()
		if s, ok := info.Sys().(*syscall.Stat_t); err == nil && ok && info.Mode().IsRegular() && s.Nlink == 1 {
			err = f.Chmod(0o600)
			if err == nil {
				_, err = f.WriteAt(text, 0) // whoever reads sees the old one or the new one
			}
			if err == nil {
				err = f.Truncate(int64(len(text)))
			}
			return errors.Join(err, f.Sync(), f.Close())
		}
		_ = f.Close()
	}
	f, err := renameio.NewPendingFile(path, renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }()
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// read reads web.json. Its error is ErrForeign, fs.ErrNotExist, or says what is broken.
func read(path string) (record, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return record{}, fmt.Errorf("read ralph/.state/%s: %w", FileName, err)
	}
	var r record
	if len(b) == 0 { // a sandbox has made it, to hide it
		return record{}, fmt.Errorf("read ralph/.state/%s: %w", FileName, fs.ErrNotExist)
	}
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return record{}, fmt.Errorf("read ralph/.state/%s: %w", FileName, err)
	}
	if head.Version != version && head.Version != 0 {
		return record{}, fmt.Errorf("%w: it has version %d, this ralph knows version %d", ErrForeign, head.Version, version)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return record{}, fmt.Errorf("read ralph/.state/%s: %w", FileName, err)
	}
	if r.Version != version || len(bytesOf(r.Token)) != secret || len(bytesOf(r.Key)) != secret {
		return record{}, fmt.Errorf("read ralph/.state/%s: its secrets are broken", FileName)
	}
	return r, nil
}

// random makes a secret, as text that stands in addresses and headers.
func random() string {
	var b [secret]byte
	rand.Read(b[:]) //nolint:errcheck // never fails since Go 1.24
	return textOf(b[:])
}

func textOf(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// bytesOf is what a text stands for; nil for one that is none.
func bytesOf(text string) []byte {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil
	}
	return b
}
