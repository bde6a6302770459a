//! Options of `serve`.

use clap::Args;
use std::net::IpAddr;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Address to listen on; one that other machines can reach needs --secret-file
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: IpAddr,
    /// File with a secret of at least 16 bytes: only clients with the same secret are served
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// TCP and UDP port
    #[arg(long, default_value_t = punctual_loads::DEFAULT_PORT)]
    pub port: u16,
    /// Also store images of `bench network` in this directory, under generated names
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Maximum size of one image, MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, requires = "store", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub largest: u64,
    /// Maximum size of all stored images, MiB; beyond it, the oldest images of this server are removed
    #[arg(long, value_name = "MIB", default_value_t = 256, requires = "store", value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub keep: u64,
}
