mod common;
mod published;
mod splits;
mod unlike;
