//! Plans when and how the link is cut, and how the machine is restarted afterwards.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum At {
    /// The link is cut when this share of the bytes has been sent to the machine.
    Sending(f64),
    /// The link is cut when this share of the running time of the command on the machine has passed.
    Installing(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The controller and its ssh are killed: the machine sees the connection close.
    Killed,
    /// The relay stops forwarding: the machine receives nothing at all.
    Dead,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// The emulator gets SIGKILL, which resembles a power failure.
    Power,
    Reboot,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    pub at: At,
    pub link: Link,
    pub restart: Restart,
    /// Time from the cut to the restart, during which the command on the machine continues.
    pub after: Duration,
}

/// Plans the cuts. Half of them happen while bytes are sent, half while the command runs on the machine, one in each of
/// a number of equal intervals. The kinds of cut and restart alternate; the same seed gives the same cuts.
pub fn cuts(count: usize, seed: u64) -> Vec<Cut> {
    let mut state = seed;
    let sending = count / 2;
    let mut all: Vec<Cut> = (0..count)
        .map(|i| {
            let (place, of) = if i < sending { (i, sending) } else { (i - sending, count - sending) };
            let share = (place as f64 + random(&mut state)) / of as f64;
            let at = if i < sending { At::Sending(share) } else { At::Installing(share) };
            let link = if place % 2 == 0 { Link::Dead } else { Link::Killed };
            let restart = if place / 2 % 2 == 0 { Restart::Power } else { Restart::Reboot };
            let longest = if restart == Restart::Power { 1.0 } else { 15.0 };
            Cut { at, link, restart, after: Duration::from_secs_f64(longest * random(&mut state)) }
        })
        .collect();
    for last in (1..all.len()).rev() {
        let other = (random(&mut state) * (last + 1) as f64) as usize;
        all.swap(last, other.min(last));
    }
    all
}

/// Returns the next number of SplitMix64 (Steele, Lea and Flood, 2014), scaled to the range from 0 to 1.
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_lie_in_every_tenth_of_both_halves_with_every_pair_of_ends() {
        let all = cuts(20, 7);
        assert_eq!(all, cuts(20, 7));
        assert_ne!(all, cuts(20, 8));
        let tenths = |share: fn(At) -> Option<f64>| {
            let mut found: Vec<usize> =
                all.iter().filter_map(|cut| share(cut.at)).map(|s| (s * 10.0) as usize).collect();
            found.sort_unstable();
            found
        };
        let every: Vec<usize> = (0..10).collect();
        assert_eq!(tenths(|at| if let At::Sending(share) = at { Some(share) } else { None }), every);
        assert_eq!(tenths(|at| if let At::Installing(share) = at { Some(share) } else { None }), every);
        for link in [Link::Killed, Link::Dead] {
            for restart in [Restart::Power, Restart::Reboot] {
                assert!(all.iter().filter(|cut| cut.link == link && cut.restart == restart).count() >= 4);
            }
        }
    }
}
