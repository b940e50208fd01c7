#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The completion in a folder of $fpath, as a package installs it: the first Tab of a shell completes
# already.
#   zsh_completion.sh INGOT
set -euo pipefail
ingot=$(readlink -f "$1")
command -v zsh >/dev/null || { echo "[skip] completion of zsh: zsh is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$ingot" completion zsh >"$work/_ingot"
cat >"$work/press.zsh" <<'ZSH'
zmodload zsh/zpty
zpty shell "env -i TERM=dumb HOME=$1 ZDOTDIR=$1 zsh -f -i" || exit 77
zpty -w shell "PS1='> ' PROMPT_EOL_MARK=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -d $1/dump; echo 'rea''dy'"
local seen= piece deadline=$((SECONDS + 180))
while [[ $seen != *ready* ]] && (( SECONDS < deadline )); do zpty -rt shell piece && seen+=$piece || sleep 0.05; done
zpty -w -n shell $'ingot conv\t'
seen=
while [[ $seen != *convert* ]] && (( SECONDS < deadline )); do zpty -rt shell piece && seen+=$piece || sleep 0.05; done
zpty -d shell
[[ $seen == *convert* ]] || { print -r -- "after the first Tab: ${(q)seen}"; exit 1; }
ZSH
status=0
zsh -f "$work/press.zsh" "$work" || status=$?
if [ $status -eq 0 ]; then
  echo "zsh_completion: 1 passed, 0 failed"
elif [ $status -eq 77 ]; then
  echo "[skip] completion of zsh: no terminal can be opened here (is /dev/pts mounted?)"
  exit 77
else
  echo "ERROR zsh_completion: the first Tab does not complete"
  echo "zsh_completion: 0 passed, 1 failed"
  exit 1
fi
