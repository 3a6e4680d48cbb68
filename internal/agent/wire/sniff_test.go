package wire

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// What is not JSON to its end still gives what stands before the fault: of a line that is
// too long to be kept the beginning has the id that is to be answered.
func TestEach(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]struct {
		got string
		ok  bool
	}{
		`{"a":1,"b":[2,{"c":3}]}`:        {`a=1 b=[2,{"c":3}]`, true},
		" {\t\"a\" : null } \n":          {`a=null`, true},
		`{"a":1,"a":"\ud800","\u0062":}`: {`a=1 a="\ud800"`, false},
		`{"a":"` + "\xff" + `"}`:         {"a=\"\xff\"", true},
		`{"id":7,"params":{"text":"xx`:   {`id=7`, false},
		`{"a":1`:                         {`a=1`, false},
		`{"a"`:                           {``, false},
		`{}`:                             {``, true},
		`[1,"x",[]]`:                     {`1 "x" []`, true},
		`[1,`:                            {`1`, false},
		`[]`:                             {``, true},
		`"a"`:                            {``, false},
		``:                               {``, false},
		`words of an agent`:              {``, false},
	} {
		var got []string
		ok := EachMember([]byte(in), func(key, value []byte) { got = append(got, string(key)+"="+string(value)) })
		if !ok && len(got) == 0 {
			ok = EachElement([]byte(in), func(value []byte) { got = append(got, string(value)) })
		}
		if s := strings.Join(got, " "); s != want.got || ok != want.ok {
			t.Errorf("%s: %s %v, want %s %v", in, s, ok, want.got, want.ok)
		}
	}
}

// Objects are read inside of objects, and what was read stays when more is.
func TestEachWithin(t *testing.T) {
	t.Parallel()
	var kept [][]byte
	EachMember([]byte(`{"a":{"b":[{"c":"one"},{"c":"two"}]}}`), func(_, a []byte) {
		EachMember(a, func(_, b []byte) {
			EachElement(b, func(one []byte) {
				EachMember(one, func(key, c []byte) { kept = append(kept, key, c) })
			})
		})
	})
	EachMember([]byte(`{"x":"something else that is longer"}`), func(_, _ []byte) {})
	if got := string(bytes.Join(kept, []byte(" "))); got != `c "one" c "two"` {
		t.Errorf("kept %s", got)
	}
}

// A line of megabytes is read where it stands: none of it is copied, and nothing of it is held.
func TestEachOfALongLine(t *testing.T) {
	line := slices.Concat([]byte(`{"id":1,"text":"`), bytes.Repeat([]byte("x"), 16<<20), []byte(`","end":2}`))
	read := func() (n int) {
		EachMember(line, func(_, value []byte) { n += len(value) })
		return n
	}
	read()
	if w := walkers().Get().(*walker); len(w.of) > maxHeld || w.in.Len() > maxHeld {
		t.Errorf("%d bytes of a line are held", len(w.of)+w.in.Len())
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := read()
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 || n < 16<<20 {
		t.Errorf("%d bytes are read with %d of memory", n, got)
	}
}
