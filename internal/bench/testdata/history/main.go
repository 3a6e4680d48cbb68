// History makes a repository with so many bytes of history that nothing makes smaller: commits with
// 20 KiB each, the newest in its one file. It prints the last of them.
//
//	history <folder> <bytes>
package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
)

const each = 20 << 10

func main() {
	dir := os.Args[1]
	size, err := strconv.Atoi(os.Args[2])
	must(err)
	git("init", "-q", "--bare", "-b", "main", dir)
	cmd := exec.Command("git", "-C", dir, "-c", "core.compression=0", "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--depth=0")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(err)
	must(cmd.Start())
	must(write(in, max(1, size/each)))
	must(in.Close())
	must(cmd.Wait())
	git("-C", dir, "rev-parse", "main")
}

func write(in io.Writer, commits int) error {
	to := bufio.NewWriterSize(in, 1<<20)
	random := rand.NewChaCha8([32]byte{})
	text := make([]byte, each)
	for i := range commits {
		_, _ = random.Read(text) // it never fails
		fmt.Fprintf(to, "commit refs/heads/main\ncommitter Ada <ada@example.com> %d +0000\ndata 2\nx\nM 100644 inline big\ndata %d\n", 1_600_000_000+i, each)
		if _, err := to.Write(append(text, '\n')); err != nil {
			return err
		}
	}
	return to.Flush()
}

func git(args ...string) {
	cmd := exec.Command("git", args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	must(cmd.Run())
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
