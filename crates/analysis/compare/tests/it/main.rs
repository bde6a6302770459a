mod common;
mod not_known;
mod published;
mod splits;
mod unlike;
