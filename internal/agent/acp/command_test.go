package acp

import "testing"

// E-077: a command is judged as it would run: arguments are no text for a shell, and only
// a shell of the system's is one.
func TestACPCommandOf(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"command":"ls -l"}`:                            "ls -l",
		`{"command":["bash","-lc","ls -l"]}`:             "ls -l",
		`{"command":["/bin/sh","-c","ls"]}`:              "ls",
		`{"command":["./bash","-c","ls"]}`:               "./bash -c ls",
		`{"command":["python3","-c","ls"]}`:              "python3 -c ls",
		`{"command":["bash","-ec","ls"]}`:                "bash -ec ls",
		`{"command":["cat","#","/etc/passwd"]}`:          "cat '#' /etc/passwd",
		`{"command":["cat","a b","it's","~/x","*"]}`:     `cat 'a b' 'it'\''s' '~/x' '*'`,
		`{"command":["echo",";","rm","-rf","x","$(y)"]}`: `echo ';' rm -rf x '$(y)'`,
		`{"command":["X=1","ls"]}`:                       `X=1 ls`,
		`{"cmd":"ls"}`:                                   "",
	} {
		if got := commandOf([]byte(input)); got != want {
			t.Errorf("%s: %s, want %s", input, got, want)
		}
	}
}
