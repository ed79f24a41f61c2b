#!/bin/sh
# Stands for any build tool: compiles, and writes down the class path of the tests.
set -e
jars=$(find "${REPOSITORY:-$HOME/.m2/repository}" -name 'junit-jupiter-*-5.10.2.jar' \
    -o -name 'junit-platform-*-1.10.2.jar' -o -name 'opentest4j-1.3.0.jar' -o -name 'apiguardian-api-1.1.2.jar')
mkdir -p out/test
javac -nowarn -cp "$(echo $jars | tr ' ' ':')" -d out/test $(find src -name '*.java')
printf '%s\n' out/test $jars > class-path.txt
