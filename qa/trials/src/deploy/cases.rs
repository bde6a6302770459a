//! The kernels that are tried, and their expected outcomes.

use punctual_vm::{DiskRun, Ending};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comes {
    /// It is verified and committed, and boots by default from then on.
    Kept,
    /// The old kernel returns automatically, and a rollback leaves every byte as before.
    Returned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    None,
    /// Modules whose path contains this are left out.
    Without(&'static str),
    Loops,
}

#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    pub plant: Plant,
    /// Words after `kernel deploy`.
    pub words: &'static [&'static str],
    /// In the old kernel, before it is deployed.
    pub before: &'static str,
    pub comes: Comes,
}

/// A first process that takes the only CPU for good, with the real-time throttle off.
const HOG: &str = "printf '%s\\n' '#!/bin/sh' 'mount -t proc proc /proc 2> /dev/null' 'echo -1 > /proc/sys/kernel/sched_rt_runtime_us' \
    'chrt -f 99 sh -c \"while :; do :; done\"' > /usr/sbin/hog; chmod 755 /usr/sbin/hog";
const HANG: &str =
    "printf '%s\\n' '#!/bin/sh' 'mount -t proc proc /proc 2> /dev/null' 'while :; do sleep 1000; done' > /usr/sbin/hang
    chmod 755 /usr/sbin/hang";

const fn case(
    name: &'static str,
    plant: Plant,
    words: &'static [&'static str],
    before: &'static str,
    comes: Comes,
) -> Case {
    Case { name, plant, words, before, comes }
}

pub const CASES: [Case; 7] = [
    case("good", Plant::None, &[], "", Comes::Kept),
    case("panic", Plant::None, &["--append", "init=/bin/false"], "", Comes::Returned),
    case("no-root", Plant::Without("/ext4.ko"), &[], "", Comes::Returned),
    case("no-network", Plant::Without("/virtio_net.ko"), &[], "", Comes::Returned),
    case("early-hang", Plant::Loops, &[], "", Comes::Returned),
    case("hang", Plant::None, &["--append", "init=/usr/sbin/hang"], HANG, Comes::Returned),
    case("starved", Plant::None, &["--append", "init=/usr/sbin/hog"], HOG, Comes::Returned),
];

impl Comes {
    pub fn words(self) -> &'static str {
        match self {
            Comes::Kept => "committed",
            Comes::Returned => "returned by themselves, undone to the byte",
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
