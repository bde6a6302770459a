mod common;
mod coverage;
mod coverage_of;
mod extremes;
mod published;
mod series;
mod two_sample;
mod vectors;
