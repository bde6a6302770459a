mod common;
mod damage;
mod kernels;
mod pasted;
mod perf;
mod samples;
