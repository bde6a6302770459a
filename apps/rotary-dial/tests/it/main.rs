mod bars;
mod decoder;
mod exchange;
mod program;
