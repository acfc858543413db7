#!/usr/bin/env bash
# Runs a command against a real TuFT server that computes on toy backends: strict about the protocol, useless for learning.
#
#   scripts/integration/tuft.sh [--model FOLDER]... -- COMMAND...
#
# One server holds every --model (models/tiny by default). The command finds TINKER_BASE_URL, TINKER_API_KEY and
# TINKER_BASE_MODEL (the first; TINKER_BASE_MODEL_1, ... for each).
# Exit code: the command's; 2 for a wrong call, 3 when the server cannot be set up here.
set -u
name=tuft
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

models=()
while [ $# -gt 0 ]; do
  case $1 in
    --model) models+=("$2"); shift 2 ;;
    --) shift; break ;;
    *) printf '[tuft] unknown argument %s (a command follows --)\n' "$1" >&2; exit 2 ;;
  esac
done
[ $# -gt 0 ] || { printf '[tuft] no command after --\n' >&2; exit 2; }
[ ${#models[@]} -gt 0 ] || models=("$root/models/tiny")

find_uv
environment tuft "$here/tuft.txt" '>=3.12,<3.15'
workspace

export TINKER_API_KEY=tml-test
{
  printf 'checkpoint_dir: %s/checkpoints\nauthorized_users: {%s: tester}\nsupported_models:\n' "$work" "$TINKER_API_KEY"
  for i in "${!models[@]}"; do
    folder=$(cd "$root" && cd "${models[$i]}" 2>/dev/null && pwd) || unable "there is no folder ${models[$i]}"
    printf '  - {model_name: model-%d, model_path: %s, max_model_len: 1024, max_lora_rank: 32, max_loras: 8}\n' $((i + 1)) "$folder"
    export "TINKER_BASE_MODEL_$((i + 1))=model-$((i + 1))"
  done
} >"$work/tuft.yaml"
port=$(free_port)
export TINKER_BASE_URL=http://127.0.0.1:$port TINKER_BASE_MODEL=$TINKER_BASE_MODEL_1

say "starting a server on port $port"
cd "$work"
start "$work/tuft.log" env TUFT_CPU_TEST=1 PYTHONPATH="$here/stubs/tuft" PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1 \
  nice -n 15 "$env/bin/tuft" launch --config "$work/tuft.yaml" --host 127.0.0.1 --port "$port"
cd "$OLDPWD"
say 'waiting until it has made its first model'
"$env/bin/python" "$here/ready.py" "$TINKER_BASE_URL" "$TINKER_BASE_MODEL" 900 "$last" ||
  unable "the server did not answer (see $home/tuft.log): $(grep -E 'Error' "$work/tuft.log" | tail -1)"

say "running $*"
"$@"
