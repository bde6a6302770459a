mod common;
mod pasted;
mod samples;
