mod comparison;
mod golden;
mod hostile;
mod published;
mod samples;
mod shape;
mod tails;
mod why;
