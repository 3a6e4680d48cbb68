package tail

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/ralph-loop/ralph/internal/step"
)

// maxOutput bounds a copy, in bytes: no output that is kept is longer (step).
const maxOutput = 160 << 20

// Copy is the output of a turn as far as it has come, in the folder where the turn's files will be.
// Whoever reads it sees a file that grows, as of a turn on this machine; another attempt is another
// file under its name.
type Copy struct {
	at     *os.Root // the repository
	folder string   // of the turn, relative to it
	state  string   // file with what a coordinator after this one has to know
	has    Want
	size   int64 // of the file
}

// OpenCopy begins the copy of a turn, with an output of nothing, or goes on with that of a
// coordinator that was killed. Close closes it.
func OpenCopy(root, folder, ref, state string) (*Copy, error) {
	at, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("keep the output of a turn: %w", err)
	}
	c := &Copy{at: at, folder: folder, state: state, has: Want{Ref: ref}}
	err = at.MkdirAll(folder, 0o700)
	if err == nil {
		err = c.touch()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keep the output of a turn: %w", err), at.Close())
	}
	var was Want
	if b, err := os.ReadFile(state); err == nil && json.Unmarshal(b, &was) == nil && was.Ref == ref {
		c.has.Attempt, c.has.From = was.Attempt, c.size
	}
	return c, nil
}

func (c *Copy) name() string { return path.Join(c.folder, step.OutputName) }

// touch makes the output if it is not there, and finds out its size.
func (c *Copy) touch() error {
	f, err := c.at.OpenFile(c.name(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	c.size = info.Size()
	return nil
}

// Want is what to ask for.
func (c *Copy) Want() Want { return c.has }

// Close closes it; the files stay.
func (c *Copy) Close() error { return c.at.Close() }

// Add puts a part where it belongs: behind what is there, or, of another attempt or where what is
// there was lost, in a new file. One that does not go on from what is there is asked for anew.
func (c *Copy) Add(p Part) error {
	words, err := unsqueeze(p.Output, 2*maxPiece)
	if err != nil {
		return err
	}
	if p.From+int64(len(words)) > maxOutput {
		return fmt.Errorf("a worker sent more than %d bytes of an output", maxOutput)
	}
	switch goesOn := p.Attempt == c.has.Attempt && p.From == c.has.From; {
	case goesOn && c.append(words) == nil:
	case p.From != 0:
		c.has.Attempt, c.has.From = "", 0
		return nil
	default:
		if err := c.begin(p.Attempt, words); err != nil {
			return fmt.Errorf("keep the output of a turn: %w", err)
		}
	}
	if len(p.Doing) == 0 {
		return nil
	}
	doing, err := unsqueeze(p.Doing, maxFeed)
	if err == nil {
		err = c.replace(path.Join(c.folder, step.FeedName), doing)
	}
	if err == nil {
		c.has.Feed = p.Feed
	}
	return err
}

var errAnother = errors.New("it is not as it was left")

// append makes the file longer. Where somebody has cut it or taken it away, it is to come anew.
func (c *Copy) append(words []byte) error {
	f, err := c.at.OpenFile(c.name(), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != c.size {
		err = errAnother
	}
	if err == nil {
		_, err = f.WriteAt(words, c.size)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		c.size += int64(len(words))
		c.has.From = c.size
	}
	return err
}

// begin begins with the output of an attempt. The file of nothing, which readers may have open, goes on.
func (c *Copy) begin(attempt string, words []byte) error {
	if err := c.touch(); err != nil {
		return err
	}
	var err error
	if c.size == 0 {
		err = c.append(words)
	} else {
		err = c.replace(c.name(), words)
	}
	if err != nil {
		return err
	}
	c.size = int64(len(words))
	c.has = Want{Ref: c.has.Ref, Attempt: attempt, From: c.size}
	b, err := json.Marshal(c.has)
	if err == nil {
		err = os.WriteFile(c.state, b, 0o600)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // nobody can ask for it any more
	}
	return err
}

// replace puts a new file in the place of one.
func (c *Copy) replace(name string, text []byte) error {
	if err := c.at.WriteFile(name+".new", text, 0o600); err != nil {
		return err
	}
	return c.at.Rename(name+".new", name)
}
