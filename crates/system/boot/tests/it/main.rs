mod common;
mod found;
mod properties;
mod roots;
mod tools;
mod unknown;
