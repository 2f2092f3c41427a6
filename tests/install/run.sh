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

# build_here NAME: this folder, from which neither the source tree nor its settings can be found.
build_here() {
  "$cmake" -G "$generator" -S . -B out -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" \
    >"$room/configure.log" 2>&1 || die "cannot configure $1: $(cat "$room/configure.log")"
  "$cmake" --build out >"$room/build.log" 2>&1 || die "cannot build $1: $(cat "$room/build.log")"
}

build_app() {
  cp -R "$apps/$1" "$room/$1"
  cd "$room/$1"
  build_here "$1"
}

# first_block KIND: of docs/library.md.
first_block() {
  awk -v fence="\`\`\`$1" '$0 == fence { inside = 1; next } inside && /^```$/ { exit } inside' "$apps/../docs/library.md"
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

# All parts of the library, and a name of S0's in the environment. Nobody listens there: a failed attempt, and told.
build_app daily
CARILLON_TICK_MS=200 expect "advice: error unreachable" timeout 60 out/daily smtp://127.0.0.1:9
rm -f daily.db*
CARILLON_TICK_MS=200 expect "picked 1" timeout 60 out/daily smtp://127.0.0.1:9
status=0
CARILLON_TICK_MS=0 timeout 60 out/daily smtp://127.0.0.1:9 2>"$room/refused.log" || status=$?
((status == 1)) || die "daily with tick_ms = 0 ended with $status, not 1"
grep -qF 'tick_ms = "0" (environment CARILLON_TICK_MS): must be' "$room/refused.log" || die "daily said: $(cat "$room/refused.log")"

# The example of docs/library.md, as it stands.
mkdir "$room/page"
cd "$room/page"
first_block cmake >CMakeLists.txt
first_block cpp >main.cpp
build_here "the example of docs/library.md"
# And with Mondays that are a second apart: each reminds.
sed -i 's/FREQ=WEEKLY;BYDAY=MO/FREQ=SECONDLY/; s/5min/100ms/' main.cpp
build_here "the example of docs/library.md"
out/app >said 2>&1 &
app=$!
for ((i = 0; i < 600; ++i)); do
  (($(grep -cx 'reminder: standup' said) >= 3 && $(grep -cx 'reminder: tea' said) >= 1)) && break
  sleep 0.1
done
(($(grep -cx 'reminder: standup' said) >= 3)) || die "the example did not remind each time: $(cat said)"
# A second one is told who has the file.
status=0
timeout 60 out/app >second 2>&1 || status=$?
((status == 1)) || die "a second process ended with $status: $(cat second)"
grep -q "^app: .* is in use by process $app on .*; one process may have it open" second || die "a second process was told: $(cat second)"
kill "$app"
wait "$app" || die "the example did not end well: $(cat said)"
(($(grep -cx 'reminder: tea' said) == 1)) || die "tea was not reminded of once: $(cat said)"
