#!/bin/sh
# Runs a differential program as its own control: it must report differences (status 1), not crash and not agree.
# usage: control.sh PROGRAM ARGUMENT...
set -u
found=0
said=$("$@") || found=$?
printf '%s\n' "$said" | tail -n 5
if [ "$found" -ne 1 ]; then
    echo "the control ended with status $found, not 1"
    exit 1
fi
case $said in
*[!0-9]"0 differences without an explanation"*) exit 1 ;;
*" differences without an explanation"*) exit 0 ;;
*) exit 1 ;;
esac
