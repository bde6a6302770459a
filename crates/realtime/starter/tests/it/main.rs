//! Projects as `punctual new` writes them; compiled and run where the compilers are installed.

mod compiled;
mod written;
