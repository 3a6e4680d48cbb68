package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync makes the data of f durable; the size is part of it, times are not.
func datasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
