mod common;
mod damage;
mod pasted;
mod reported;
mod samples;
