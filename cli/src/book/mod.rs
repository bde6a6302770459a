//! Checks that the book (docs/) matches the command line: the parser accepts every command line in the book, and the
//! command pages are generated from the parser's definition. tests/it/book.rs runs those lines that can run in a test.

mod boards;
mod made;
mod parsed;
