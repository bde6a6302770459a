//! The kernels that are deployed, and the expected outcomes.

use punctual_vm::{DiskRun, Ending};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comes {
    /// The kernel is verified and committed, and is the default from then on.
    Kept,
    /// The machine returns to the old kernel automatically, and a rollback restores every byte.
    Returned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injection {
    None,
    /// The package lacks the modules whose path contains this text.
    Without(&'static str),
    Loops,
}

#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    pub injection: Injection,
    /// Additional arguments of `kernel deploy`.
    pub words: &'static [&'static str],
    /// Shell commands that run in the old kernel before the deployment.
    pub before: &'static str,
    pub comes: Comes,
}

/// Shell commands that install an init process (PID 1) which occupies the only CPU forever, with RT throttling
/// disabled.
const HOG: &str = "printf '%s\\n' '#!/bin/sh' 'mount -t proc proc /proc 2> /dev/null' 'echo -1 > /proc/sys/kernel/sched_rt_runtime_us' \
    'chrt -f 99 sh -c \"while :; do :; done\"' > /usr/sbin/hog; chmod 755 /usr/sbin/hog";
const HANG: &str =
    "printf '%s\\n' '#!/bin/sh' 'mount -t proc proc /proc 2> /dev/null' 'while :; do sleep 1000; done' > /usr/sbin/hang
    chmod 755 /usr/sbin/hang";

const fn case(
    name: &'static str,
    injection: Injection,
    words: &'static [&'static str],
    before: &'static str,
    comes: Comes,
) -> Case {
    Case { name, injection, words, before, comes }
}

pub const CASES: [Case; 7] = [
    case("good", Injection::None, &[], "", Comes::Kept),
    case("panic", Injection::None, &["--append", "init=/bin/false"], "", Comes::Returned),
    case("no-root", Injection::Without("/ext4.ko"), &[], "", Comes::Returned),
    case("no-network", Injection::Without("/virtio_net.ko"), &[], "", Comes::Returned),
    case("early-hang", Injection::Loops, &[], "", Comes::Returned),
    case("hang", Injection::None, &["--append", "init=/usr/sbin/hang"], HANG, Comes::Returned),
    case("starved", Injection::None, &["--append", "init=/usr/sbin/hog"], HOG, Comes::Returned),
];

impl Comes {
    pub fn words(self) -> &'static str {
        match self {
            Comes::Kept => "committed",
            Comes::Returned => "returned automatically, undone to the byte",
        }
    }

    pub fn judge(self, run: &DiskRun, marks: &[&str]) -> Result<(), String> {
        let has = |mark: &str| marks.contains(&mark);
        if run.ending != Ending::Off {
            return Err(format!("{:?} after {} boots", run.ending, run.boots.len()));
        }
        let is_so = match self {
            Comes::Kept => has("committed") && has("runs") && !has("returned"),
            Comes::Returned => has("returned") && has("same") && !has("committed"),
        };
        if is_so { Ok(()) } else { Err("not as expected".to_owned()) }
    }
}
