package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What Landlock has no word for, and a filter of system calls can tell by their numbers: text
// pushed into a terminal as if the person had typed it, and limits set on other processes,
// with which the engine could be ended (a limit of no processor time).

// calls are the numbers of one architecture.
type calls struct{ arch, ioctl, ioctlX32, prlimit uint32 }

func callsHere() []calls {
	switch runtime.GOARCH {
	case "amd64":
		// A 64 bit program can make the calls of the other two as well.
		return []calls{{unix.AUDIT_ARCH_X86_64, 16, 514, 302}, {unix.AUDIT_ARCH_I386, 54, 54, 340}}
	case "arm64":
		return []calls{{unix.AUDIT_ARCH_AARCH64, 29, 29, 261}, {unix.AUDIT_ARCH_ARM, 54, 54, 369}}
	}
	return nil
}

// Offsets in struct seccomp_data.
const (
	dataNr   = 0
	dataArch = 4
	dataArg  = 16 // the lower half of the first argument, on machines whose lower half comes first
)

// filterCalls puts the filter before this thread, which becomes the program.
func filterCalls() error {
	list := callsHere()
	if list == nil {
		return nil // not known on this architecture: docs/threat-model.md says so
	}
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		and   = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K
		x32   = 0x40000000
	)
	do := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	when := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: equal, Jt: yes, Jf: no, K: k}
	}
	allow, refuse := do(ret, unix.SECCOMP_RET_ALLOW), do(ret, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM))
	var program []unix.SockFilter
	for _, c := range list {
		program = append(program,
			do(load, dataArch), when(c.arch, 0, 19), // else the next architecture
			do(load, dataNr), do(and, ^uint32(x32)),
			when(c.ioctl, 3, 0), when(c.ioctlX32, 2, 0), when(c.prlimit, 6, 0), allow,
			do(load, dataArg+8), when(unix.TIOCSTI, 2, 0), when(tioclinux, 1, 0), allow, refuse,
			// prlimit of another process (0 is oneself) with new limits (nil only asks)
			do(load, dataArg), when(0, 5, 0),
			do(load, dataArg+16), when(0, 0, 2), do(load, dataArg+20), when(0, 1, 0), refuse, allow,
		)
	}
	program = append(program, allow)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := unix.Syscall6(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	runtime.KeepAlive(program)
	return nil
}

// tioclinux pastes the selection of a console.
const tioclinux = 0x541c
