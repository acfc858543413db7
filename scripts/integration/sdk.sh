#!/usr/bin/env bash
# Records what the official Python SDK sends to the Tinker server at TINKER_BASE_URL, as fixtures/sdk-VERSION.json:
#
#   scripts/integration/skyrl.sh -- scripts/integration/sdk.sh [--sdk VERSION] [--out FOLDER]
#
# TINKER_BASE_MODEL names the base model. Exit code: 0 recorded, 1 a call failed, 2 wrong call, 3 cannot be set up here.
set -u
name=sdk
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=0.38.0
out=$here/fixtures
while [ $# -gt 0 ]; do
  case $1 in
    --sdk) version=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    *) printf '[sdk] unknown argument %s\n' "$1" >&2; exit 2 ;;
  esac
done
[ -n "${TINKER_BASE_URL:-}" ] && [ -n "${TINKER_BASE_MODEL:-}" ] || { printf '[sdk] TINKER_BASE_URL and TINKER_BASE_MODEL must name a server\n' >&2; exit 2; }
export TINKER_API_KEY=${TINKER_API_KEY:-tml-test}

find_uv
workspace
sed "s/^tinker==.*/tinker==$version/" "$here/sdk.txt" >"$work/sdk-$version.txt"
environment "sdk-$version" "$work/sdk-$version.txt" '>=3.12,<3.15'

start "$work/record.log" "$env/bin/python" "$here/record.py" "$TINKER_BASE_URL" "$work/record.jsonl" "$work/port"
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
say "recording the calls of tinker $version"
# The SDK keeps credentials below the home folder: it gets an empty one.
TINKER_BASE_URL=http://127.0.0.1:$(cat "$work/port") HOME=$work TINKER_TELEMETRY=0 HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1 \
  nice -n 15 "$env/bin/python" "$here/sdk_calls.py" || exit 1
mkdir -p "$out"
"$env/bin/python" "$here/normalise.py" "$work/record.jsonl" "$out/sdk-$version.json" "$version" "${TINKER_SERVER_NAME:-skyrl 0.4.0}"
