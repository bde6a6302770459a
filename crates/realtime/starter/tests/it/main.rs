//! Tests the projects that `punctual new` writes. They are compiled and run where the compilers are installed.

mod compiled;
mod written;
