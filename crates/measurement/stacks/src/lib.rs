//! Unwinds the user stacks of other programs from registers and a copy of the stack's end, and names their functions.
//!
//! Unwinding follows `.eh_frame` and `.debug_frame`, otherwise frame pointers (framehop: x86-64 and arm64; elsewhere a
//! stack consists only of its innermost function). Names come from DWARF, also in separate debug files found by build
//! id or `.gnu_debuglink`, otherwise from the symbol table; Rust and C++ names are demangled. Code that a program
//! generates is named by its `/tmp/perf-PID.map` (Linux' tools/perf/Documentation/jit-interface.txt), which Python
//! writes with `-X perf`.
//!
//! Files are untrusted: files that cannot be parsed have no names.

#![forbid(unsafe_code)]

mod elf;
mod name;
mod perfmap;
mod process;
mod symbols;

pub use elf::{Elf, FileId, Images};
pub use process::{Frame, Process, Registers, Stack};
