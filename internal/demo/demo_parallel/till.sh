#!/bin/sh
# A till. Each command is a file in commands/.
command=${1:-help}
[ $# -gt 0 ] && shift
exec sh "commands/$command.sh" "$@"
