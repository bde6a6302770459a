//! The integration tests of the crate, in one program.

mod audit;
mod audit_files;
mod bad_input;
mod bench;
mod book;
mod capabilities;
mod claims;
mod common;
mod compare;
mod confined;
mod cyclictest;
#[path = "../../../tests/deps.rs"]
mod deps;
mod ending;
mod events;
mod explain;
mod fix;
mod fleet;
mod formats;
mod golden;
mod hardware;
mod history;
mod import;
mod kbuild;
mod kernel;
mod kernel_deploy;
mod kernelways;
mod live;
mod manual;
mod persist;
mod planted;
#[path = "../../../crates/output/formats/tests/it/protobuf/mod.rs"]
mod protobuf;
mod sched;
#[cfg(feature = "reference-checks")]
mod schemas;
#[cfg(feature = "reference-checks")]
mod schemas_of_decisions;
#[path = "../../../crates/system/remote/tests/it/sshd/mod.rs"]
#[allow(dead_code, reason = "the other user cuts connections")]
mod sshd;
mod tracing;
mod tracing_own;
#[path = "../../../crates/linux/kbuild/tests/it/common/mod.rs"]
mod tree;
mod tune;
mod until;
mod watch;
mod ways;
