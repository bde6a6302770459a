#!/bin/sh
# Builds the libFuzzer targets without cargo-fuzz: ./run.sh TARGET [libFuzzer's arguments]. Needs nightly and a C++ compiler.
set -e
cd "$(dirname "$0")"
export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1"
triple=$(rustc +nightly -vV | sed -n 's/host: //p')
cargo +nightly build --release --target "$triple"
target=$1; shift
exec "${CARGO_TARGET_DIR:-target}/$triple/release/$target" "$@"
