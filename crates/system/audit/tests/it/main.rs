mod cases;
mod cmdlines;
mod docs;
mod given;
mod machines;
mod rules;
mod unreadable;
