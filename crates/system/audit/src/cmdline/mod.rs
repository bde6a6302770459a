//! The kernel command line as the kernel parses it.

pub(crate) mod arches;
pub(crate) mod built;
pub(crate) mod foreign;
pub(crate) mod isolcpus;
pub(crate) mod list;
pub(crate) mod names;
pub(crate) mod releases;
pub(crate) mod values;

/// Beginnings of the line in the kernel's log: print_unknown_bootoptions(), init/main.c, since commits 8bc2b3dca729
/// (5.16) and 86d1919232fb (5.14).
pub(crate) const UNKNOWN: [&str; 2] = ["Unknown kernel command line parameters \"", "Unknown command line parameters:"];
