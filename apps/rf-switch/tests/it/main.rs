mod common;
mod daemon;
mod programs;
mod receiver;
