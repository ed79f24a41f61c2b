#!/bin/sh
# Stands for any build tool: compiles, and writes down the class path of the tests.
set -e
jars=$(find "${REPOSITORY:-$HOME/.m2/repository}" -name 'junit-4.13.2.jar' -o -name 'hamcrest-core-1.3.jar')
mkdir -p out/main out/test
javac -nowarn -d out/main $(find src -name '*.java')
javac -nowarn -cp "out/main:$(echo $jars | tr ' ' ':')" -d out/test $(find test -name '*.java')
printf '%s\n' out/test out/main $jars -Dacme.built=plainly > class-path.txt
