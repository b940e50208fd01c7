#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Man pages of the command line, made of what its --help says: ingot.1 and a page for each command.
#   man_pages.sh PROGRAM FOLDER
set -eu
program=$1 folder=$2
mkdir -p "$folder"
rm -f "$folder"/*.1  # of commands that are no more
version=$("$program" --version | sed -n '1s/^ingot //p')
# Commands stand two spaces in, below a heading of their own; what an option takes up more.
commands=$("$program" --help | sed -n '/^Make and look into files:/,/^Examples:/p' | sed -nE 's/^  ([a-z][a-z-]*) .*/\1/p')
[ -n "$commands" ] || { echo "man_pages: $program --help names no commands" >&2; exit 1; }
page() { # NAME SENTENCE PROGRAM ARGUMENT...
  name=$1 sentence=$2; shift 2
  help2man --no-info --help-option="--help all" --name="$sentence" --version-string="$version" --manual=Ingot --source="Ingot $version" \
    --include="$folder/.see_also" --output="$folder/$name.1" "$*"
  title=$(printf %s "$name" | tr '[:lower:]' '[:upper:]')
  sed -i "s/^\.TH INGOT /.TH $title /" "$folder/$name.1"
}
{
  printf '[see also]\n.BR ingot (1)'
  for command in $commands; do printf ',\n.BR ingot-%s (1)' "$command"; done
  echo
} >"$folder/.see_also"
# help2man runs what it is given in a shell; the program's own name is what a page says.
PATH=$(cd "$(dirname "$program")" && pwd):$PATH
page ingot "convert trained networks into one file and run it" ingot
for command in $commands; do
  sentence=$(ingot "$command" --help | sed -n 1p)
  page "ingot-$command" "$(printf %s "$sentence" | cut -c1 | tr '[:upper:]' '[:lower:]')$(printf %s "$sentence" | cut -c2-)" "ingot $command"
done
rm "$folder/.see_also"
