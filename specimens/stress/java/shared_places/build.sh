#!/bin/sh
# Compiles the tests and writes down their class path.
set -e
jars=$(find "${REPOSITORY:-$HOME/.m2/repository}" -name 'junit-4.13.2.jar' -o -name 'hamcrest-core-1.3.jar')
mkdir -p out
javac -nowarn -cp "$(echo $jars | tr ' ' ':')" -d out $(find test -name '*.java')
printf '%s\n' out $jars > class-path.txt
