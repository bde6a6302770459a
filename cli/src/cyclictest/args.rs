//! Options of `cyclictest`.

use clap::Args;
use std::ffi::OsString;

#[derive(Args, Debug)]
pub struct CyclictestArgs {
    /// Options of cyclictest, followed by their values
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    pub words: Vec<OsString>,
}
