#!/usr/bin/env bash
# What is played on a real SkyRL server before a change lands: the part of the suite of engines that needs few shapes,
# then a round of PasoDoble with two adapters on the one server. Run by skyrl.sh.
set -eu
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

tests='raw log-probabilities at temperature 1'
tests+='|stops at ids|ratios of 1|learning rate of 0|raises what it is trained on|negative advantage'
tests+='|two calls before a step|as if it had never stopped|train and sample at the same time'
SPARRING_INTEGRATION=skyrl timeout 900 npx vitest run dist/scripts/integration/skyrl.test.js -t "$tests"

timeout 900 node dist/src/cli/main.js train recipes/pasodoble-tiny.yaml --run "$folder/run" \
  --set rounds=1 --set 'engine={kind: tinker}' \
  --set 'roles.proposer.lora={rank: 8}' --set 'roles.solver.lora={rank: 8}' \
  --set settings.texts_per_round=2 --set settings.questions=4 --set settings.answers=4 \
  --set anchors.every=1 --set anchors.heldout.n=8
