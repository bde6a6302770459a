mod common;
mod file;
mod gates;
mod shifts;
