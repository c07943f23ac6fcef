#!/bin/sh
# build.sh JAVA FOLDER SOURCE…: gets the libraries, compares them with the lock, and compiles
java=$1 build=$2
shift 2
export LC_ALL=C
mkdir -p ~/.m2
# Maven's repository is not made for several at a time.
flock ~/.m2 mvn -q -B -Dfolder="$build" process-resources ||
    { echo "remedy: Maven gets the libraries: connect this machine to its repository and run again"; exit 1; }
(cd "$build" && sha256sum */*.jar) | diff jars.sha256 - ||
    { echo "remedy: the libraries differ from jars.sha256: remove ~/.m2/repository and run again"; exit 1; }
mkdir -p "$build/classes"
"$java" -cp "$build/compiler/*:$build/lib/*" dotty.tools.dotc.Main -classpath "$(printf %s: "$build"/lib/*.jar)" \
    -d "$build/classes" "$@" || exit
# Scala uses what newer JDKs warn of, in lines on stderr; older ones do not know the option.
quiet=--sun-misc-unsafe-memory-access=allow
"$java" $quiet -version 2>/dev/null || quiet=
echo "$quiet" > "$build/options"
