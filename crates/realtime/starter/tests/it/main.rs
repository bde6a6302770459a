//! Projects as `punctual new` writes them; compiled and run where the compilers are there.

mod compiled;
mod written;
