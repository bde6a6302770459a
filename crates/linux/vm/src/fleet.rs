use crate::boot::{Booted, boot_joined};
use crate::cache::Cache;
use crate::error::VmError;
use crate::guest::Guest;
use crate::network::Network;
use std::path::PathBuf;
use std::thread;

/// Boots several guests at once on `network`. Each may have a folder for its files. The results are in the order of the
/// guests.
///
/// # Errors
/// Each guest has its own result; more than 200 guests are refused.
pub fn boot_all(
    guests: &[(Guest, Option<PathBuf>)],
    network: Option<&Network>,
    cache: &Cache,
) -> Vec<Result<Booted, VmError>> {
    if guests.len() > 200 {
        return vec![Err(VmError::Usage(format!("{} guests at once: choose at most 200", guests.len())))];
    }
    thread::scope(|scope| {
        let running: Vec<_> = guests
            .iter()
            .zip(1u32..)
            .map(|((guest, into), number)| {
                let boot = move || boot_joined(guest, network.map(|n| (n, number)), cache, into.as_deref());
                thread::Builder::new().spawn_scoped(scope, boot)
            })
            .collect();
        let lost = || Err(VmError::Usage("the thread that ran a guest died".into()));
        let none = |e| {
            Err(VmError::Usage(format!(
                "cannot start a thread for a guest: {e}; see `ulimit -u`, or boot fewer at once"
            )))
        };
        let ended = |thread: std::io::Result<thread::ScopedJoinHandle<'_, _>>| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| lost()),
            Err(e) => none(e),
        };
        running.into_iter().map(ended).collect()
    })
}
