#!/bin/sh
# Installs punctual-rt for C and C++: the headers, the static and the shared library, and the pkg-config file.
#
#   install.sh ARCHIVE PREFIX [LIBDIR]
#
# ARCHIVE is libpunctual_rt_c.a as built by cargo. LIBDIR is a directory below PREFIX: lib (the default), lib64,
# lib/x86_64-linux-gnu. PREFIX is below $DESTDIR. $CC links the shared library from the archive, because cargo's shared
# libraries have no symbol versions.
set -eu
[ $# -ge 2 ] || { sed -n 's/^#   //p' "$0" >&2; exit 2; }
archive=$1 prefix=$2 libdir=${3:-lib}
here=$(cd "$(dirname "$0")" && pwd)
name=libpunctual_rt_c soname=libpunctual_rt_c.so.0
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../../../Cargo.toml")
needed=$(sed -n 's/^Libs.private: //p' "$here/punctual-rt.pc.in")
include=${DESTDIR:-}$prefix/include libraries=${DESTDIR:-}$prefix/$libdir

mkdir -p "$include/punctual" "$libraries/pkgconfig"
cp "$here/include/punctual_rt.h" "$here/include/punctual.hpp" "$include"
cp "$here"/include/punctual/*.hpp "$include/punctual"
cp "$archive" "$libraries/$name.a"
# Symbols are bound when the library is loaded, not at the first call of each function, which may be in a real-time thread.
# $needed is split into words.
# shellcheck disable=SC2086
"${CC:-cc}" -shared -o "$libraries/$soname" -Wl,-soname,$soname -Wl,--version-script="$here/punctual_rt.map" -Wl,--gc-sections \
  -Wl,-z,defs,-z,relro,-z,now -Wl,--strip-debug -Wl,--whole-archive "$archive" -Wl,--no-whole-archive $needed
ln -sf $soname "$libraries/$name.so"
sed "/^#/d; s|@PREFIX@|$prefix|; s|@LIBDIR@|$libdir|; s|@VERSION@|$version|" "$here/punctual-rt.pc.in" >"$libraries/pkgconfig/punctual-rt.pc"
