#!/bin/sh
# Builds NAME. Finds punctual-rt with pkg-config if that knows it (PKG_CONFIG_PATH=PREFIX/lib/pkgconfig), otherwise where the compiler
# looks for libraries, which is where the package punctual-rt-dev installs it.
set -eu
cd "$(dirname "$0")"
if flags=$(pkg-config --cflags --libs punctual-rt 2>/dev/null); then
    libraries=$(pkg-config --variable=libdir punctual-rt)
    case $libraries in
    /lib* | /usr/lib*) ;;
    # The loader does not look there by default, and sudo and systemd drop the variable that would name the folder.
    *) flags="$flags -Wl,-rpath,$libraries" ;;
    esac
else
    flags=-lpunctual_rt_c
fi
# $flags is split into words.
# shellcheck disable=SC2086
exec COMPILER -O2 -g -Wall -Wextra -o NAME SOURCE $flags
