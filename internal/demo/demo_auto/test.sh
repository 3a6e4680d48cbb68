#!/bin/sh
# The check of this demo.
fail() { echo "FAIL: $*"; exit 1; }
[ "$(sh notes.sh | head -1)" = "buy milk" ] || fail "notes.sh does not show the notes"
if grep -q count notes.sh; then
	[ "$(sh notes.sh count)" = 2 ] || fail "notes.sh count: want '2', got '$(sh notes.sh count)'"
fi
