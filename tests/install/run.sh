#!/usr/bin/env bash
# Installs a build to a temporary prefix, moves that prefix, and builds and runs programs of apps/ against it, each in a
# folder that holds nothing else: what a user of the library does.
#
#   run.sh CMAKE CXX_COMPILER GENERATOR BUILD_FOLDER APPS_FOLDER VERSION
set -euo pipefail

cmake=$1 compiler=$2 generator=$3 build=$4 apps=$5 version=$6

room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

die() {
  printf 'install: %s\n' "$*" >&2
  exit 1
}

# expect TEXT COMMAND...: the command succeeds, and a line of what it prints is TEXT.
expect() {
  local text=$1 output
  shift
  output=$("$@") || die "failed: $*"
  grep -qxF -- "$text" <<<"$output" || die "expected the line \"$text\" from $*, found: $output"
}

# build_app NAME: in a clean folder, from which neither the source tree nor its settings can be found.
build_app() {
  cp -R "$apps/$1" "$room/$1"
  cd "$room/$1"
  "$cmake" -G "$generator" -S . -B out -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" \
    >"$room/configure.log" 2>&1 || die "cannot configure $1: $(cat "$room/configure.log")"
  "$cmake" --build out >"$room/build.log" 2>&1 || die "cannot build $1: $(cat "$room/build.log")"
}

"$cmake" --install "$build" --prefix "$room/staged" >"$room/install.log" || die "cannot install: $(cat "$room/install.log")"
mv "$room/staged" "$room/prefix"
prefix=$room/prefix
expect "$version" "$prefix/bin/carillon" version
if grep -rqF -e "$room/staged" -e "$build" "$prefix" --include='*.cmake' --include='*.h'; then
  die "the package names the folder that it was built in or installed to"
fi
unset CMAKE_PREFIX_PATH CXXFLAGS CPPFLAGS LDFLAGS CPATH CPLUS_INCLUDE_PATH LIBRARY_PATH

build_app hello
expect "carillon $version" timeout 60 out/hello
rm -f hello.db*
expect "reminder: tea" timeout 60 out/hello
# What was done is not done again.
expect "event-1 is done already" timeout 60 out/hello

build_app embedded
expect "orders 1, shipments 1, jobs 1, found again 0" timeout 60 out/embedded
# Killed between storing the job and removing its outbox row: one job for that order, not two.
status=0
timeout 60 out/embedded --crash || status=$?
((status == 9)) || die "embedded --crash ended with $status, not 9"
expect "orders 3, shipments 3, jobs 3, found again 1" timeout 60 out/embedded
