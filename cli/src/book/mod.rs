//! The book (docs/) and the command line agree: every line in it is parsed by the real parser, and its pages of commands are made
//! from the parser's own definition. tests/it/book.rs runs the lines that can run here.

mod made;
mod parsed;
