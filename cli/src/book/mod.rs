//! Checks that the book (docs/) matches the command line: the real parser accepts every command line in it, and its
//! command pages are generated from the parser's definition. tests/it/book.rs runs the lines that can run in a test.

mod boards;
mod made;
mod parsed;
