mod common;
mod kill;
mod network;
mod prevented;
mod run;
