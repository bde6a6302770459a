use crate::plan::Refusal;
use crate::read::seen;
use crate::words::is_same;
use punctual_machine::{Machine, longest_cmdline};

fn length<'w>(words: impl Iterator<Item = &'w String>) -> usize {
    words.map(|word| word.len() + 1).sum()
}

/// Returns how many bytes firmware and boot loader added to the command line at this boot; `None` if no kernel is
/// running.
fn added(view: &dyn Machine, before: &[String]) -> Result<Option<usize>, Refusal> {
    let hand = "run this as root: /proc/cmdline must be readable";
    let unknown = |error| Refusal::by_hand(format!("cannot tell if the command line would fit: {error}"), hand);
    let seen = seen(view).map_err(unknown)?;
    let is_new = |word: &&String| !before.iter().any(|known| is_same(known, word));
    Ok(seen.map(|words| length(words.iter().filter(is_new))))
}

/// Checks that the command line, with what firmware and boot loader add, fits into COMMAND_LINE_SIZE, because
/// truncation may remove `root=`. Returns a note if it is unknown whether it fits.
pub(crate) fn check(view: &dyn Machine, before: &[String], after: &[String]) -> Result<Option<String>, Refusal> {
    if length(after.iter()) <= length(before.iter()) {
        return Ok(None);
    }
    let added = added(view, before)?;
    let will = length(after.iter()) + added.unwrap_or(0);
    let most = longest_cmdline(view);
    let limit = most.unwrap_or(1023);
    let said = match added {
        Some(_) => format!("the command line would have {will} bytes with the additions of firmware and loader"),
        None => format!(
            "the command line would have {will} bytes plus the additions of firmware and loader, which are unknown without a running system"
        ),
    };
    match (added, will <= limit) {
        (Some(_), true) => return Ok(None),
        (None, true) => return Ok(Some(format!("{said}; the kernel truncates it at {limit}"))),
        (_, false) => {}
    }
    match most {
        Some(limit) => Err(Refusal::new(format!("{said}; this kernel truncates it at {limit}"))),
        None if will > 2047 => Err(Refusal::new(format!("{said}; most kernels truncate it at 2047"))),
        None => Ok(Some(format!("{said}; the limit of this kernel is unknown; 32-bit Arm truncates it at {limit}"))),
    }
}
