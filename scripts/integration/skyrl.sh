#!/usr/bin/env bash
# Runs a command against a real SkyRL server on its JAX CPU backend:
#
#   scripts/integration/skyrl.sh [--model FOLDER]... [--adapters N] -- COMMAND...
#
# One server per --model (models/tiny by default), since a SkyRL server holds one base model. The command finds
# TINKER_BASE_URL and TINKER_BASE_MODEL (the first server), and TINKER_BASE_URL_1, TINKER_BASE_MODEL_1, ... for each.
# Exit code: the command's; 2 for a wrong call, 3 when the server cannot be set up here.
set -u
name=skyrl
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

models=()
adapters=8
while [ $# -gt 0 ]; do
  case $1 in
    --model) models+=("$2"); shift 2 ;;
    --adapters) adapters=$2; shift 2 ;;
    --) shift; break ;;
    *) printf '[skyrl] unknown argument %s (a command follows --)\n' "$1" >&2; exit 2 ;;
  esac
done
[ $# -gt 0 ] || { printf '[skyrl] no command after --\n' >&2; exit 2; }
[ ${#models[@]} -gt 0 ] || models=("$root/models/tiny")

find_uv
environment skyrl "$here/skyrl.txt" '>=3.12,<3.15'
workspace

# uv run must be the parent process: the API server takes the command line of its engine from it.
export PATH="$(dirname "$uv"):$PATH" VIRTUAL_ENV=$env PYTHONPATH=$here/stubs/skyrl PYTHONDONTWRITEBYTECODE=1
export JAX_PLATFORMS=cpu HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
# Compiled programs outlive a server: the second run of the same shapes does not compile again.
export JAX_COMPILATION_CACHE_DIR=$home/jax-cache JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0.1

serve() { # number, model folder
  local folder=$work/model-$1 port
  [ -f "$2/config.json" ] || unable "there is no config.json in $2"
  mkdir -p "$folder"
  cp "$2"/*.json "$2"/*.safetensors "$folder/"
  # The local engine computes in float32; a server that computes in bfloat16 could not be held against it.
  "$env/bin/python" - "$folder/config.json" <<'PY'
import json, sys
path = sys.argv[1]
config = json.load(open(path))
config.pop("torch_dtype", None)
json.dump({**config, "dtype": "float32"}, open(path, "w"))
PY
  port=$(free_port)
  say "starting a server of $2 on port $port"
  start "$work/skyrl-$1.log" nice -n 15 "$uv" run --no-project --active --offline -m skyrl.tinker.api \
    --base-model "$folder" --backend jax --session-timeout-sec 900 \
    --backend-config "{\"max_lora_adapters\": $adapters, \"max_lora_rank\": 32, \"train_micro_batch_size\": 8, \"sample_max_num_sequences\": 64}" \
    --database-url "sqlite:///$work/skyrl-$1.db" --checkpoints-base "$work/checkpoints-$1" \
    --host 127.0.0.1 --port "$port"
  servers+=("$last")
  export "TINKER_BASE_URL_$1=http://127.0.0.1:$port" "TINKER_BASE_MODEL_$1=$folder"
}

servers=()
cd "$work"
for i in "${!models[@]}"; do
  folder=$(cd "$root" && cd "${models[$i]}" 2>/dev/null && pwd) || unable "there is no folder ${models[$i]}"
  serve $((i + 1)) "$folder"
done
for i in "${!models[@]}"; do
  url=TINKER_BASE_URL_$((i + 1)) model=TINKER_BASE_MODEL_$((i + 1))
  say "waiting until ${!url} has made its first model"
  "$env/bin/python" "$here/ready.py" "${!url}" "${!model}" 900 "${servers[$i]}" ||
    unable "the server did not answer (see $home/skyrl-$((i + 1)).log): $(grep -E 'Error|error' "$work/skyrl-$((i + 1)).log" | tail -1)"
done
export TINKER_BASE_URL=$TINKER_BASE_URL_1 TINKER_BASE_MODEL=$TINKER_BASE_MODEL_1 TINKER_API_KEY=${TINKER_API_KEY:-tml-test}
unset VIRTUAL_ENV PYTHONPATH

say "running $*"
cd "$OLDPWD"
"$@"
