mod cases;
mod cmdlines;
mod config_txt;
mod docs;
mod given;
mod machines;
mod rules;
mod unreadable;
