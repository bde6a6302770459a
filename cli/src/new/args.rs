//! Options of `new`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct NewArgs {
    /// Name of the program and of its folder: lower-case letters, digits and -
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Language of the program
    #[arg(long, value_enum, value_name = "LANG")]
    pub lang: Lang,
    /// Folder to create [default: ./NAME]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Folder of the Rust crate punctual-rt [default: that of the package punctual-rt-dev]
    #[arg(long, value_name = "DIR")]
    pub library: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Lang {
    Rust,
    C,
    Cpp,
}
