//! The kernel command line as the kernel parses it.

pub(crate) mod isolcpus;
pub(crate) mod list;
pub(crate) mod names;
