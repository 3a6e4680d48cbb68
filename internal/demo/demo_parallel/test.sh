#!/bin/sh
# The checks of this little project. ralph runs them before a task counts as done,
# and again on the merged tree.
fail() {
  echo "FAIL: $1" >&2
  exit 1
}
want() { # want <output> <command> ...
  expected=$1
  shift
  [ -f "commands/$1.sh" ] || return 0
  got=$(sh till.sh "$@" 2>&1)
  [ "$got" = "$expected" ] || fail "till.sh $*: want '$expected', got '$got'"
}

for file in commands/*.sh; do
  name=$(basename "$file" .sh)
  grep -q "^  $name " commands.txt || fail "commands.txt does not list $name"
done
want "till 1" version
want 60 sum 10 20 30
want 119 tax 100
want 54 discount 10 20 30
want "sum 60, tax included 71" receipt 10 20 30
if [ -f tests/unknown ]; then
  sh till.sh nonsense >/dev/null 2>&1
  [ $? -eq 2 ] || fail "till.sh nonsense: want exit code 2"
fi
echo "all checks pass"
