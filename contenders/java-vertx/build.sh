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
"$java" --module jdk.compiler/com.sun.tools.javac.Main -cp "$(printf %s: "$build"/lib/*.jar)" \
    -d "$build/classes" "$@"
