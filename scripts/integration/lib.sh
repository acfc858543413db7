# Shared by the integration scripts; sourced, not run. Everything Python lives in $home, outside the repository.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
home=${SPARRING_INTEGRATION_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/sparring/integration}
export UV_CACHE_DIR=${UV_CACHE_DIR:-$home/uv-cache} UV_PYTHON_DOWNLOADS=${UV_PYTHON_DOWNLOADS:-never}
work=
group=
last=

say() { printf '[%s] %s\n' "$name" "$*" >&2; }
# Exit code 3 tells that the machine cannot run this check, which is no failure of the code.
unable() {
  printf '[%s] cannot be set up: %s\n' "$name" "$*" >&2
  exit 3
}

find_uv() {
  uv=$(command -v uv) && return
  uv=$home/tools/bin/uv
  [ -x "$uv" ] && return
  say 'installing uv'
  nice -n 15 python3 -m venv "$home/tools" >/dev/null 2>&1 || unable 'neither uv nor python3 with venv is installed'
  nice -n 15 "$home/tools/bin/pip" install -q uv >"$home/tools/log" 2>&1 || unable "uv did not install (see $home/tools/log)"
}

find_python() { # range, as in >=3.12,<3.15
  local candidate
  for candidate in ${SPARRING_PYTHON:-} "$("$uv" python find "$1" 2>/dev/null)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-4]*/bin/python; do
    if [ -x "$candidate" ] && "$candidate" -c 'import venv' 2>/dev/null; then
      python=$candidate
      return
    fi
  done
  unable "no Python $1 was found (SPARRING_PYTHON may name one)"
}

# The environment $1 holds exactly the packages of the requirements file $2.
environment() {
  env=$home/$1
  local stamp
  stamp=$(cksum <"$2")
  if [ "$(cat "$env/.installed" 2>/dev/null)" != "$stamp" ]; then
    find_python "$3"
    say "installing the packages of $(basename "$2") in $env"
    mkdir -p "$home"
    nice -n 15 "$uv" venv -q --clear --python "$python" "$env" || unable "no environment could be made in $env"
    nice -n 15 "$uv" pip sync -q --python "$env/bin/python" "$2" >"$env/install.log" 2>&1 ||
      unable "the packages did not install (see $env/install.log): $(grep -v '^ *$' "$env/install.log" | tail -1)"
    echo "$stamp" >"$env/.installed"
  fi
}

free_port() { "$env/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# A folder for this run alone, gone afterwards like the processes of start().
workspace() {
  mkdir -p "$home"
  work=$(mktemp -d "$home/run-XXXXXX")
  trap cleanup EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

cleanup() {
  local code=$? id
  trap - EXIT
  for id in $group; do kill -TERM -- "-$id" 2>/dev/null; done
  [ -z "$group" ] || sleep 1
  for id in $group; do kill -KILL -- "-$id" 2>/dev/null; done
  if [ -n "$work" ]; then
    if [ "$code" -ne 0 ] && cp "$work"/*.log "$home/" 2>/dev/null; then say "exit code $code; what the servers wrote is in $home"; fi
    rm -rf "$work"
  fi
  exit "$code"
}

# Runs a command in a process group of its own, whose number is left in $last. Should this script be killed outright,
# a watcher ends the group.
start() { # log file, command...
  local log=$1 id
  shift
  set -m
  "$@" >"$log" 2>&1 </dev/null &
  id=$!
  disown
  set +m
  group="$group $id"
  last=$id
  (
    trap '' HUP INT
    while kill -0 $$ 2>/dev/null; do sleep 2; done
    kill -KILL -- "-$id" 2>/dev/null
    rm -rf "$work"
  ) >/dev/null 2>&1 </dev/null &
}
