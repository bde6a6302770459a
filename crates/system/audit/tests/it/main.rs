mod cases;
mod docs;
mod given;
mod machines;
mod rules;
mod unreadable;
