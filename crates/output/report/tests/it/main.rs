mod comparison;
mod golden;
mod hostile;
mod published;
mod shape;
mod tails;
mod why;
