mod draw;
mod panic;
