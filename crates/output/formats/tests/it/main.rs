mod bundle;
#[path = "../../../report/tests/it/common/mod.rs"]
mod common;
mod cyclictest;
mod golden;
mod hostile;
mod perfetto;
mod protobuf;
mod read;
