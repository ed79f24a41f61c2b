#!/bin/sh
# Stands where Surefire looks for java: keeps everything that a JVM would have been started with, and takes its leave.
here=${0%/bin/java}
pwd > "$here/directory"
env -0 > "$here/variables"
printf '%s\0' "$@" > "$here/words"
place=
while [ $# -gt 1 ]; do
    if [ "$1" = -jar ]; then
        shift
        place=${1%/*}
        cp "$place/$4" "$here/surefire.properties" || exit 1
        if [ $# -ge 5 ]; then cp "$place/$5" "$here/system.properties" || exit 1; fi
        break
    fi
    shift
done
# Goodbye as Surefire 3 says it, or as Surefire 2 did.
if grep -q '^forkNodeConnectionString=' "$here/surefire.properties"; then
    printf ':maven-surefire-event:\003:bye:'
else
    printf 'Z,0,BYE!\n'
fi
