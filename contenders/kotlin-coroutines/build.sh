#!/bin/sh
# build.sh JAVA FOLDER SOURCE…: gets the libraries, compares them with the lock, and compiles
java=$1 build=$2
shift 2
export LC_ALL=C
mvn -q -B -Dfolder="$build" process-resources ||
    { echo "Maven could not get the libraries: look above, or connect this machine to a network"; exit 1; }
(cd "$build" && sha256sum */*.jar) | diff jars.sha256 - ||
    { echo "libraries differ from jars.sha256: remove the named ones from ~/.m2 and build again"; exit 1; }
"$java" -cp "$build/compiler/*:$build/lib/*" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -no-stdlib -no-reflect \
    -jvm-target 21 -cp "$(printf %s: "$build"/lib/*.jar)" -d "$build/classes" "$@"
