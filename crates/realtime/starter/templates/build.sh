#!/bin/sh
# Builds NAME. punctual-rt is found by pkg-config where that knows it (PKG_CONFIG_PATH=PREFIX/lib/pkgconfig), and otherwise where the
# compiler looks for libraries: the package punctual-rt-dev installs it there.
set -eu
cd "$(dirname "$0")"
if flags=$(pkg-config --cflags --libs punctual-rt 2>/dev/null); then
    libraries=$(pkg-config --variable=libdir punctual-rt)
    case $libraries in
    /lib* | /usr/lib*) ;;
    # The loader does not look there by default, and sudo and systemd drop the variable that says so.
    *) flags="$flags -Wl,-rpath,$libraries" ;;
    esac
else
    flags=-lpunctual_rt_c
fi
# The flags are words.
# shellcheck disable=SC2086
exec COMPILER -O2 -g -Wall -Wextra -o NAME SOURCE $flags
