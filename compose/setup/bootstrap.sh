#!/bin/sh
# Makes .venv with the pinned packages and the project itself: the part of `make setup` that runs before there is a
# Python. A stamp in .venv names all that went into it, so a second run only compares.
set -eu
cd "$(dirname "$0")/../.."

report() { echo "highwater: $*"; }

fail() {
    report "$1" >&2
    echo "    next step: $2" >&2
    exit 4
}

[ "$(uname -s)" = Linux ] || fail "clusters are run and broken on Linux only, and this is $(uname -s)" "a Linux machine, or a virtual one"

is_usable() {
    "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

version() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
}

loop_us() {
    "$1" -c 'import timeit; print(int(1e6 * min(timeit.repeat(
        "for i in range(9999): f(i)", "def f(i): return {i: (i, str(i))}[i]", number=1, repeat=30))))'
}

# Of two Pythons the first, unless the second has the same version and is much the faster. Distributions compile Python
# by the profile of real programs; what version managers compile often is not, and takes 1.3 times as long for a verdict.
faster() {
    if is_usable "$2" && [ "$(version "$2")" = "$(version "$1")" ] &&
        [ $(($(loop_us "$2") * 10)) -lt $(($(loop_us "$1") * 9)) ]; then
        echo "$2"
    else
        echo "$1"
    fi
}

find_python() {
    for python in python3 python3.11 python3.12 python3.13; do
        if is_usable "$python"; then
            faster "$python" /usr/bin/python3
            return
        fi
    done
}

install_python() {
    [ "$(id -u)" = 0 ] && [ "${HIGHWATER_INSTALL-}" != no ] && command -v apt-get >/dev/null ||
        fail "no Python 3.11 or newer with its venv module" "$1"
    report "installing python3 python3-venv from Debian; apt adds them and what they need, and removes nothing"
    report "    to undo: apt-get purge python3-venv && apt-get autoremove; HIGHWATER_INSTALL=no forbids it"
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    # A dead source among others need not matter: the installation shows.
    if ! { apt-get update -q || true; apt-get install -q -y --no-remove --no-install-recommends python3 python3-venv; } >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        fail "apt-get could not install python3-venv (above: its last lines)" "$1"
    fi
    rm -f "$log"
}

# One line a package. Not every sh has `pipefail`, so a failure is handed round the pipe as a file.
install() {
    rm -f .venv/failed
    { .venv/bin/python -m pip --disable-pip-version-check --no-color install --progress-bar off "$@" 2>&1 ||
        touch .venv/failed; } | sed -un -e 's/^Collecting \([^ ]*\).*/  \1/p' -e '/ERROR\|error:/p'
    [ ! -e .venv/failed ] || fail "pip failed (above: its output)" "does the Python package index answer?"
}

# The path is in it because an environment cannot be moved.
wanted=$({ pwd && cat requirements*.in requirements*.txt pyproject.toml "$0"; } | sha256sum | cut -c1-16)
stamp=.venv/highwater-$wanted
if [ -e "$stamp" ] && .venv/bin/python -c ''; then
    exit 0
fi

if ! head -n 1 .venv/bin/pip 2>/dev/null | grep -q "^#!$PWD/" || ! is_usable .venv/bin/python; then
    python=$(find_python)
    if [ -z "$python" ]; then
        install_python "install Python 3.11 or newer with its venv module, then \`make setup\` again"
        python=$(find_python)
    fi
    [ -n "$python" ] || fail "python3 here is older than 3.11" "install Python 3.11 or newer, then \`make setup\` again"
    report "making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
fi

report "installing pinned Python packages into .venv (1.3 GB on disk, one to three minutes) ..."
# The first few build those that come as source, and the project: nothing unpinned is fetched for that.
install --require-hashes --only-binary=:all: -r requirements-build.txt
install --require-hashes --no-build-isolation -r requirements.txt -r requirements-dev.txt
install --no-deps --no-build-isolation -e .
rm -f .venv/highwater-*
touch "$stamp"
report "installing pinned Python packages into .venv: done"
