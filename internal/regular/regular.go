// Package regular owns how files are opened that an agent can put something else in the place of:
// a regular file or none. It never waits for a pipe, reads no more than it was asked for, and in a
// folder that an agent writes it follows no link. ralph itself is in no sandbox: a link that an agent
// made would have it read what is hidden from the agent, or write where the agent may not.
//
// It does NOT own what may be read or written where (internal/sandbox, internal/profile).
package regular

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNotRegular is that a folder, a pipe, a device, a socket or a link is where a file was expected.
var ErrNotRegular = errors.New("it is no regular file")

// Large bounds what is read of files whose size is their owner's affair, in bytes: no index of git
// has as many.
const Large = 2 << 30

// Open opens a file to read, and says what it is; links are followed. It is for the caller to close.
// For what is not in a folder that an agent writes, or where a link tells it nothing new.
func Open(name string) (*os.File, fs.FileInfo, error) {
	return known(os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0))
}

// known is a regular file that was opened, with what it is; another one is closed.
func known(f *os.File, err error) (*os.File, fs.FileInfo, error) {
	if err != nil {
		return nil, nil, err
	}
	info, err := infoOf(f)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// ReadFile reads a file of at most so many bytes, which is opened as Open does. One that is larger is
// an error.
func ReadFile(name string, most int64) ([]byte, error) {
	f, info, err := Open(name)
	if err != nil {
		return nil, err
	}
	return readAll(f, info.Size(), name, most)
}

// readAll reads and closes a file.
func readAll(f *os.File, size int64, name string, most int64) ([]byte, error) {
	defer f.Close() //nolint:errcheck // nothing was written
	if size > most {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that are read", name, size, most)
	}
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // the end is found without growing
	_, err := b.ReadFrom(io.LimitReader(f, most+1))
	if err == nil && int64(b.Len()) > most {
		err = fmt.Errorf("%s grows while it is read, past the %d bytes that are read", name, most)
	}
	return b.Bytes(), err
}

// Head is the first part of a file below root, at most so many bytes. name is a path with slashes;
// no part of it may be a link. root may: it is where ralph was told to work.
func Head(root, name string, most int64) ([]byte, error) {
	return part(root, name, func(int64) int64 { return 0 }, most)
}

// Tail is the last part of a file below root, as Head is the first.
func Tail(root, name string, most int64) ([]byte, error) {
	return part(root, name, func(size int64) int64 { return max(0, size-most) }, most)
}

func part(root, name string, from func(size int64) int64, most int64) ([]byte, error) {
	f, err := openBelow(root, name, os.O_RDONLY, false)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := infoOf(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, from(info.Size()), most))
}

// AppendLine adds a line to a file below root, and begins a new one where the file does not end with
// one. Folders that are missing, and the file, are made. No part of name may be a link.
func AppendLine(root, name, line string) error {
	f, err := openBelow(root, name, os.O_RDWR|os.O_APPEND|os.O_CREATE, true)
	if err != nil {
		return err
	}
	info, err := infoOf(f)
	last := []byte("\n")
	if err == nil && info.Size() > 0 {
		last = make([]byte, 1)
		_, err = f.ReadAt(last, info.Size()-1)
	}
	if err == nil {
		if !bytes.Equal(last, []byte("\n")) {
			line = "\n" + line
		}
		_, err = f.WriteString(line + "\n")
	}
	return errors.Join(err, f.Close())
}

// infoOf is what a regular file is that is open.
func infoOf(f *os.File) (fs.FileInfo, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: f.Name(), Err: ErrNotRegular}
	}
	return info, err
}

// openBelow opens a file folder by folder, so that none of them can be changed for a link meanwhile.
func openBelow(root, name string, flags int, folders bool) (*os.File, error) {
	if !fs.ValidPath(name) || name == "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	at, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: root, Err: err}
	}
	dir, base := path.Split(name)
	for folder := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if folder == "" {
			continue
		}
		next, err := openAt(at, folder, unix.O_RDONLY|unix.O_DIRECTORY)
		if folders && errors.Is(err, fs.ErrNotExist) {
			if err = unix.Mkdirat(at, folder, 0o755); err == nil || errors.Is(err, fs.ErrExist) {
				next, err = openAt(at, folder, unix.O_RDONLY|unix.O_DIRECTORY)
			}
		}
		_ = unix.Close(at)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path.Join(root, dir), Err: notRegular(err)}
		}
		at = next
	}
	defer unix.Close(at) //nolint:errcheck // nothing was written through it
	file, err := openAt(at, base, flags)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path.Join(root, name), Err: notRegular(err)}
	}
	return os.NewFile(uintptr(file), path.Join(root, name)), nil
}

func openAt(at int, name string, flags int) (int, error) {
	for {
		file, err := unix.Openat(at, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o644)
		if !errors.Is(err, unix.EINTR) {
			return file, err
		}
	}
}

// notRegular says what the system means by an error of its: a link, a folder or a pipe nobody reads.
func notRegular(err error) error {
	for _, of := range []error{unix.ELOOP, unix.EMLINK, unix.ENOTDIR, unix.EISDIR, unix.ENXIO} {
		if errors.Is(err, of) {
			return ErrNotRegular
		}
	}
	return err
}

// ReadIn reads a file of at most so many bytes by its path in a folder; links may lead elsewhere in
// that folder, and not out of it. One that is larger is an error.
func ReadIn(folder *os.Root, name string, most int64) ([]byte, error) {
	f, info, err := known(folder.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0))
	if err != nil {
		return nil, err
	}
	return readAll(f, info.Size(), name, most)
}
