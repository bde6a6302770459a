mod decode;
mod format;
mod kinds;
mod page;
mod pages;
mod symbols;

pub use decode::Decoder;
pub use format::{EventFormat, FieldFormat, Slot};
pub use page::{Layout, PageDamage, Record, Walk};
pub use pages::Pages;
pub(crate) use pages::undecoded;
pub use symbols::{Symbols, functions_at};
