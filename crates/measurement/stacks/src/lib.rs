//! Unwinds the user stacks of other programs from registers and a copy of the stack's end, and names their functions.
//!
//! Unwinding uses `.eh_frame` and `.debug_frame`, otherwise frame pointers (framehop, on x86-64 and arm64). On other
//! architectures only the innermost function of a stack is known. Names come from DWARF, also in separate debug files
//! found by build ID or `.gnu_debuglink`, otherwise from the symbol table; Rust and C++ names are demangled. Code
//! generated at run time is named by `/tmp/perf-PID.map` (Linux, tools/perf/Documentation/jit-interface.txt), which
//! Python writes with `-X perf`.
//!
//! The USDT probes of a file are read, too, with the arguments that a uprobe event can fetch.
//!
//! Files are untrusted. If a file cannot be parsed, its functions have no names.

#![forbid(unsafe_code)]

mod elf;
mod name;
mod perfmap;
mod process;
mod symbols;
mod usdt;

pub use elf::{Elf, FileId, Images};
pub use process::{Frame, Process, Registers, Stack};
pub use usdt::{Usdt, UsdtArgument, usdt_probes};
