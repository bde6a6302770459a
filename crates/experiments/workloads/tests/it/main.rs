mod allocations;
#[cfg(feature = "reference-checks")]
mod equality;
mod frames;
