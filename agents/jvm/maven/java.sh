#!/bin/sh
# Runs in place of the java that Surefire starts: records everything that the JVM would have been
# started with, and exits.
here=${0%/bin/java}
pwd > "$here/directory"
env -0 > "$here/variables"
printf '%s\0' "$@" > "$here/words"
while [ $# -gt 1 ]; do
    if [ "$1" = -jar ]; then
        shift
        if [ -f "$2" ]; then
            # Surefire before 2.20 names both files by their paths.
            settings=$2
            properties=${3-}
        else
            settings=${1%/*}/$4
            properties=${5+${1%/*}/$5}
        fi
        cp "$settings" "$here/surefire.properties" || exit 1
        : > "$here/system.properties"
        if [ -n "$properties" ]; then cp "$properties" "$here/system.properties" || exit 1; fi
        break
    fi
    shift
done
# The final message of a Surefire 3 process, or of a Surefire 2 process.
if grep -q '^forkNodeConnectionString=' "$here/surefire.properties"; then
    printf ':maven-surefire-event:\003:bye:'
else
    printf 'Z,0,BYE!\n'
fi
