#!/usr/bin/env bash
# What the GitHub Action does: run the measures, then the gate; exits with the gate's status.
# Inputs are environment variables, never parts of a command line, so that none of their text is executed.
set -uo pipefail

out="${UNMASK_OUT:-unmask-results/gate}"
run=(run "--model=${UNMASK_MODEL:-bundled}" "--out=$out" --force --quiet)
[ -n "${UNMASK_MEASURES:-}" ] && run+=("--measure=$UNMASK_MEASURES")
[ -n "${UNMASK_SETS:-}" ] && run+=("--data=$UNMASK_SETS")
unmask "${run[@]}"
status=$?
if [ "$status" -ne 0 ]; then
  [ -n "${GITHUB_OUTPUT:-}" ] && echo "status=2" >>"$GITHUB_OUTPUT"
  exit 2  # 1 would say that a rule is violated
fi

gate=(gate "--junit=$out/gate.xml")
[ -n "${UNMASK_RULES:-}" ] && gate+=("--rules=$UNMASK_RULES")
[ -n "${UNMASK_BASELINE:-}" ] && gate+=("--baseline=$UNMASK_BASELINE")
[ -n "${GITHUB_STEP_SUMMARY:-}" ] && gate+=("--summary=$GITHUB_STEP_SUMMARY")
unmask "${gate[@]}" -- "$out"  # behind the mark nothing is an option
status=$?

[ -n "${GITHUB_OUTPUT:-}" ] && echo "status=$status" >>"$GITHUB_OUTPUT"
exit "$status"
