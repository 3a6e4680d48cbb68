package policy_test

import (
	"slices"
	"testing"

	"github.com/ralph-loop/ralph/internal/policy"
)

// R-M4: what programs say when the system refuses them a file.
func TestRefused(t *testing.T) {
	t.Parallel()
	for output, want := range map[string][]string{
		"bash: line 1: /home/ada/outside.txt: Permission denied":                                   {"/home/ada/outside.txt"},
		"/bin/bash: /home/ada/outside.txt: Read-only file system":                                  {"/home/ada/outside.txt"},
		"sh: 1: cannot create /opt/x: Read-only file system\n":                                     {"/opt/x"},
		"sh: 1: cannot create ../beside.txt: Permission denied":                                    {"../beside.txt"},
		"touch: cannot touch '/opt/a b': Permission denied":                                        {"/opt/a b"},
		"mkdir: cannot create directory ‘/opt/x’: Read-only file system":                           {"/opt/x"},
		"cp: cannot create regular file '/etc/motd': Permission denied":                            {"/etc/motd"},
		"open /usr/local/x: permission denied":                                                     {"/usr/local/x"},
		"Error: EACCES: permission denied, open '/opt/x.js'":                                       {"/opt/x.js"},
		"Error: EROFS: read-only file system, mkdir '/opt/node_modules'":                           {"/opt/node_modules"},
		"PermissionError: [Errno 13] Permission denied: '/srv/x'":                                  {"/srv/x"},
		"OSError: [Errno 30] Read-only file system: '/srv/x'":                                      {"/srv/x"},
		"error: failed to write `/home/ada/.cargo/config`: Permission denied (os error 13)":        {"/home/ada/.cargo/config"},
		"ok\nbash: line 1: /a/x: Permission denied\nbash: line 2: /a/x: Permission denied\nmore\n": {"/a/x"},
		"rm: cannot remove '/a': Permission denied\nrm: cannot remove '/b': Permission denied":     {"/a", "/b"},
		"mv: cannot move 'x' to '/opt/x': Permission denied":                                       {"/opt/x"},
		"/bin/rm: cannot remove 'ralph/.state': Read-only file system":                             nil,
		"/opt/x: Permission denied":                                                                {"/opt/x"},
		"x: /opt/x: PERMISSION DENIED":                                                             {"/opt/x"},
		"x: /opt/x: Read-Only file system":                                                         {"/opt/x"},
		"x: /opt/x: eacces":                                                                        {"/opt/x"},
		"x: /opt/x: EROFS":                                                                         {"/opt/x"},
		"x: /opt/x: E":                                                                             nil,
		"permission denied":                                                                        nil,
		"bash: ./x.sh: Permission denied":                                                          nil,
		"git@github.com: Permission denied (publickey).":                                           nil,
		"--- PASS: TestPermissionDenied (0.00s)":                                                   nil,
		"all is well at /opt/x":                                                                    nil,
		"the test expects \"permission denied\" for a private file":                                nil,
	} {
		if got := policy.RefusedPaths(output); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
}
