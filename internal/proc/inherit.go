package proc

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// PassNoneOn keeps the descriptors that this process was started with from all that it starts: an
// agent would have the locks and the pipes of whoever started ralph, and files that its sandbox does
// not let it write. Standard input, output and error stay; what this program opened itself is never
// passed on.
func PassNoneOn() {
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // nobody tells which there are
	}
	for _, e := range list {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
