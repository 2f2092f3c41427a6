#!/usr/bin/env bash
# Installs a build to a temporary prefix, moves that prefix, and builds and runs apps/hello against it in a folder that
# holds nothing else: what a user of the library does.
#
#   run.sh CMAKE CXX_COMPILER GENERATOR BUILD_FOLDER HELLO_FOLDER VERSION
set -euo pipefail

cmake=$1 compiler=$2 generator=$3 build=$4 hello=$5 version=$6

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

"$cmake" --install "$build" --prefix "$room/staged" >"$room/install.log" || die "cannot install: $(cat "$room/install.log")"
mv "$room/staged" "$room/prefix"
prefix=$room/prefix
expect "$version" "$prefix/bin/carillon" version
if grep -rqF -e "$room/staged" -e "$build" "$prefix" --include='*.cmake' --include='*.h'; then
  die "the package names the folder that it was built in or installed to"
fi

# A clean folder: neither the source tree nor its settings can be found from here.
cp -R "$hello" "$room/hello"
cd "$room/hello"
unset CMAKE_PREFIX_PATH CXXFLAGS CPPFLAGS LDFLAGS CPATH CPLUS_INCLUDE_PATH LIBRARY_PATH
"$cmake" -G "$generator" -S . -B out -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" >"$room/configure.log" 2>&1 ||
  die "cannot configure hello: $(cat "$room/configure.log")"
"$cmake" --build out >"$room/build.log" 2>&1 || die "cannot build hello: $(cat "$room/build.log")"
expect "carillon $version" timeout 60 out/hello
