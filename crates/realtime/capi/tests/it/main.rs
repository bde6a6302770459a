mod api_map;
#[cfg(feature = "reference-checks")]
mod header;
mod install;
mod programs;
