# The work of the scripted agent, by the spec that it is given.
case "$RALPH_SPEC" in
*greet*round*) printf '#!/bin/sh\n# Greets a person by name.\necho "Hello, ${1:-World}!"\n' > greet.sh ;;
*greet*) printf '#!/bin/sh\necho "Hello, ${1:-World}!"\n' > greet.sh ;;
*) printf '#!/bin/sh\n# Says goodbye to a person by name.\necho "Goodbye, ${1:-World}!"\n' > farewell.sh ;;
esac
