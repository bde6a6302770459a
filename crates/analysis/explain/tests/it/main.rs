mod classes;
mod common;
mod hardware;
mod random;
mod rules;
mod samples;
mod timeline;
mod ways;
