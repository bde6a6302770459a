mod builds;
mod fetches;
mod packages;
mod patched;
