#!/bin/sh
# The checks of this little project. ralph runs them before a task counts as done.
fail() {
  echo "FAIL: $1" >&2
  exit 1
}

got=$(sh greet.sh World)
[ "$got" = "Hello, World!" ] || fail "greet.sh World: want 'Hello, World!', got '$got'"

if [ -f farewell.sh ]; then
  got=$(sh farewell.sh World)
  [ "$got" = "Goodbye, World!" ] || fail "farewell.sh World: want 'Goodbye, World!', got '$got'"
fi

if [ -f tests/usage ]; then
  help=$(sh farewell.sh 2>&1 >/dev/null)
  [ $? -eq 2 ] || fail "farewell.sh without a name: want exit code 2"
  [ -n "$help" ] || fail "farewell.sh without a name: want a usage text on stderr"
fi
echo "all checks pass"
