#!/bin/sh
# Shows the notes.
cat notes.txt
