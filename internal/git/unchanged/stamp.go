package unchanged

import "time"

// instant is a time as the file system has it.
type instant struct{ sec, nsec int64 }

func (i instant) before(t time.Time) bool { return time.Unix(i.sec, i.nsec).Add(tick).Before(t) }

// stamp is what the system says of a path.
type stamp struct {
	mode             uint32
	ino, dev         uint64
	uid, gid         uint32
	size             int64
	changed, written instant
}

const (
	typeBits   = 0o170000
	typeFolder = 0o040000
	typeFile   = 0o100000
	typeLink   = 0o120000
	typeModule = 0o160000
)

func (s stamp) folder() bool { return s.mode&typeBits == typeFolder }

// same reports whether a file is as its entry says: all that git notes, in the width that
// it notes it in.
func (s stamp) same(file stamp) bool {
	narrow := func(i instant) instant { return instant{int64(uint32(i.sec)), int64(uint32(i.nsec))} }                     //nolint:gosec // as git does
	return s.changed == narrow(file.changed) && s.written == narrow(file.written) && uint32(s.ino) == uint32(file.ino) && //nolint:gosec // as above
		s.uid == file.uid && s.gid == file.gid && uint32(s.size) == uint32(file.size) && s.sameMode(file.mode) //nolint:gosec // as above
}

// sameMode compares the mode of an entry, which has one bit for whether a file can be run.
func (s stamp) sameMode(mode uint32) bool {
	if s.mode&typeBits != mode&typeBits {
		return false
	}
	return s.mode&typeBits != typeFile || (s.mode&0o100 != 0) == (mode&0o100 != 0)
}
