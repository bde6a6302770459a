mod builds;
mod common;
mod fetches;
mod packages;
mod patched;
