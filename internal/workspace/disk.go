package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ralph-loop/ralph/internal/step"
)

// minSpace is the free space, in bytes, below which a disk counts as full: no step
// could write what it has to.
const minSpace = 1 << 20

// FullDisk is a command that ended because there is no space left: what to free,
// and what to do then.
type FullDisk struct {
	Err    error
	Advice string
}

// Error leaves out what git adds for each further file.
func (e *FullDisk) Error() string {
	first, rest, _ := strings.Cut(e.Err.Error(), "\n")
	if rest != "" {
		first += " ..."
	}
	return first + "\n" + e.Advice
}

func (e *FullDisk) Unwrap() error { return e.Err }

// spaceIn fails with ENOSPC when the disk of a folder is full. What cannot be asked
// has space.
func spaceIn(dir string) error {
	var fs syscall.Statfs_t
	if syscall.Statfs(dir, &fs) != nil {
		return nil
	}
	if freeOf(&fs) >= minSpace && (fs.Files == 0 || fs.Ffree > 0) {
		return nil
	}
	return fmt.Errorf("%s: %w", diskOf(dir), syscall.ENOSPC)
}

// disksOf are the folders of a repository that may lie on disks of their own.
func disksOf(root string) []string { return []string{root, filepath.Join(root, "ralph/.worktrees")} }

// DiskSpace fails when there is none for all that a step writes.
func DiskSpace(root string) error {
	for _, dir := range disksOf(root) {
		if err := spaceIn(dir); err != nil {
			return err
		}
	}
	return nil
}

// FullDisks names the disks that are full, of those that ralph and git write to.
func FullDisks(env Env) string {
	root, err := FindRoot(env)
	if err != nil {
		root = env.Dir
	}
	var names []string
	for _, dir := range append(disksOf(root), os.TempDir()) {
		if spaceIn(dir) != nil {
			names = append(names, diskOf(dir))
		}
	}
	if len(names) == 0 {
		return "The disk is full, or a quota is used up"
	}
	return "The disk is full (" + strings.Join(slices.Compact(names), ", ") + ")"
}

// RoomHint is what follows an error that does not keep a command from its end.
func RoomHint(env Env, err error) string {
	if !step.NoSpace(err) {
		return "\nThe next command of ralph writes it."
	}
	return "\n" + FullDisks(env) + ": free some space; the next command of ralph writes it."
}

// diskOf names the place that the disk of a folder is mounted at, with its free space.
func diskOf(dir string) string {
	at := dir
	for info, err := os.Stat(at); err == nil && at != "/"; {
		up, upErr := os.Stat(filepath.Dir(at))
		if upErr != nil || device(up) != device(info) {
			break
		}
		at, info = filepath.Dir(at), up
	}
	var fs syscall.Statfs_t
	if syscall.Statfs(dir, &fs) != nil {
		return at
	}
	return fmt.Sprintf("%s has %d KiB left", at, freeOf(&fs)>>10)
}

func freeOf(fs *syscall.Statfs_t) uint64 {
	return uint64(fs.Bavail) * uint64(fs.Bsize) //nolint:gosec,unconvert // other systems have other types
}

func device(info os.FileInfo) uint64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(st.Dev) //nolint:gosec,unconvert // an int32 on other systems
}
