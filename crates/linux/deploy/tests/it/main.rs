#[path = "../../../../system/fix/tests/it/common/mod.rs"]
mod common;
mod lifecycle;
mod machines;
mod pi;
mod planted;
