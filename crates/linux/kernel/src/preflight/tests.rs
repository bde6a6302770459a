use super::*;
use crate::config::of_config;
use punctual_machine::Recorded;

fn host() -> Host {
    let programs = crate::host::PROGRAMS.iter().map(|(name, _)| *name).collect();
    let headers = Some(crate::host::HEADERS.iter().map(|(name, _)| *name).collect());
    let compiler = Some(Ok("aarch64-linux-gnu".to_owned()));
    Host {
        distribution: Some("debian ".to_owned()),
        machine: None,
        programs,
        headers,
        compiler,
        free_bytes: Some(50 << 30),
    }
}

const GOOD: &str = "CONFIG_EXT4_FS=y\nCONFIG_MMC_BLOCK=y\nCONFIG_MMC_BCM2835=y\nCONFIG_USB_LAN78XX=y\nCONFIG_PREEMPT_RT=y\nCONFIG_EXPERT=y\nCONFIG_HZ=1000\nCONFIG_HIGH_RES_TIMERS=y\nCONFIG_SYSTEM_TRUSTED_KEYS=\"\"\n\
    CONFIG_DEVTMPFS=y\nCONFIG_DEVTMPFS_MOUNT=y\nCONFIG_SERIAL_AMBA_PL011_CONSOLE=y\n";

fn pi3(line: &str, config: &str) -> Recorded {
    let mut target = Recorded::default();
    target.set("/boot/firmware/cmdline.txt", Read::Known(line.as_bytes().to_vec()));
    target.set("/boot/firmware/config.txt", Read::Known(config.as_bytes().to_vec()));
    let mut set = |path: &str, text: &str| target.set(path, Read::Known(text.as_bytes().to_vec()));
    set("/proc/self/mountinfo", "29 1 179:2 / / rw - ext4 /dev/mmcblk0p2 rw\n");
    set("/sys/dev/block/179:2/device/uevent", "DRIVER=mmcblk\n");
    set("/sys/dev/block/179:2/device/../uevent", "DRIVER=sdhost-bcm2835\n");
    set("/sys/class/net/eth0/device/uevent", "DRIVER=lan78xx\n");
    set("/proc/consoles", "ttyAMA0 -W- (EC a) 204:64\n");
    target
}

/// Returns the outcomes other than pass and skip for a Raspberry Pi 3 that is fine except for `change`.
fn not_good(change: impl FnOnce(&mut Given)) -> Vec<(&'static str, Outcome, String)> {
    let (host, options) = (host(), of_config(GOOD));
    let target = pi3("rootwait dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=0", "arm_64bit=1\n");
    let mut given = Given {
        board: crate::board("raspberry-pi-3-64").unwrap(),
        series: Some("6.12".parse().unwrap()),
        host: &host,
        out: Some(Path::new("/build")),
        tree: Some("6.12.9".parse().unwrap()),
        patch: None,
        config: Some(&options),
        target: Some(&target),
        boot_free_bytes: Some(200 << 20),
    };
    change(&mut given);
    let bad = preflight(&given).into_iter().filter(|c| !matches!(c.outcome, Outcome::Pass | Outcome::Skip));
    bad.map(|c| (c.id, c.outcome, c.fix.unwrap_or_default())).collect()
}

use punctual_machine::Read;

#[test]
fn a_good_machine_passes_all() {
    assert_eq!(not_good(|_| {}), []);
}

#[test]
fn every_check_of_the_host_can_fail_and_says_what_to_type() {
    let with = |change: fn(&mut Host)| {
        let mut host = host();
        change(&mut host);
        not_good(|given| given.host = Box::leak(Box::new(host)))
    };
    let one = |found: Vec<(&'static str, Outcome, String)>| {
        assert_eq!(found.len(), 1, "{found:?}");
        found.into_iter().next().unwrap()
    };
    let flex = one(with(|h| h.programs.retain(|p| *p != "flex")));
    assert_eq!(flex, ("programs", Outcome::Fail, "sudo apt-get install flex".to_owned()));
    let ssl = one(with(|h| h.headers.iter_mut().for_each(|all| all.retain(|n| *n == "gelf.h"))));
    assert_eq!(ssl, ("headers", Outcome::Fail, "sudo apt-get install libssl-dev".to_owned()));
    let wrong = one(with(|h| h.compiler = Some(Ok("x86_64-linux-gnu".to_owned()))));
    assert_eq!(wrong, ("compiler", Outcome::Fail, "sudo apt-get install gcc-aarch64-linux-gnu".to_owned()));
    assert_eq!(one(with(|h| h.compiler = Some(Err("Exec format error".to_owned())))).1, Outcome::Fail);
    assert_eq!(one(with(|h| h.free_bytes = Some(1 << 30))).0, "disk");
    assert_eq!(one(with(|h| h.free_bytes = None)).1, Outcome::Unknown);
}

#[test]
fn series_patch_and_board_have_to_go_together() {
    let ids =
        |change: fn(&mut Given)| not_good(change).into_iter().map(|(id, outcome, _)| (id, outcome)).collect::<Vec<_>>();
    let series = |text: &str| Some(text.parse().unwrap());
    assert_eq!(ids(|g| g.patch = Some("6.12.8-rt1".parse().unwrap())), [("patch-sublevel", Outcome::Fail)]);
    assert_eq!(
        ids(|g| (g.series, g.tree) = (Some("6.6".parse().unwrap()), None)),
        [("patch-sublevel", Outcome::Unknown)]
    );
    let arm =
        not_good(|g| (g.board, g.tree, g.series) = (crate::board("raspberry-pi-3-32").unwrap(), None, series("6.12")));
    assert!(arm.iter().any(|(id, outcome, _)| (*id, *outcome) == ("series-arch", Outcome::Fail)), "{arm:?}");
    let old = not_good(|g| (g.board, g.series) = (crate::board("raspberry-pi-5").unwrap(), series("4.19")));
    assert!(old.iter().any(|(id, outcome, _)| (*id, *outcome) == ("board-age", Outcome::Fail)), "{old:?}");
    let dead = not_good(|g| (g.board, g.series) = (crate::board("raspberry-pi-4-32").unwrap(), series("4.19")));
    assert!(dead.iter().any(|(id, outcome, _)| (*id, *outcome) == ("board-age", Outcome::Warn)), "{dead:?}");
    assert_eq!(ids(|g| g.out = Some(Path::new("build"))), [("out-absolute", Outcome::Warn)]);
    assert_eq!(ids(|g| g.boot_free_bytes = Some(1 << 20)), [("boot-room", Outcome::Fail)]);
}

#[test]
fn each_trap_of_a_configuration_is_found() {
    let with = |from: &str, to: &str| {
        let options = of_config(&GOOD.replace(from, to));
        let found = not_good(|given| given.config = Some(Box::leak(Box::new(options))));
        found.into_iter().map(|(id, outcome, _)| (id, outcome)).collect::<Vec<_>>()
    };
    assert_eq!(with("CONFIG_PREEMPT_RT=y\n", ""), [("preempt-rt", Outcome::Fail)]);
    assert_eq!(with("KEYS=\"\"", "KEYS=\"debian/certs/x.pem\""), [("trusted-keys", Outcome::Fail)]);
    assert_eq!(with("HZ=1000", "HZ=100"), [("hz", Outcome::Warn)]);
    assert_eq!(
        with("CONFIG_HIGH_RES_TIMERS=y", "CONFIG_FB_SIMPLE=y"),
        [("hz", Outcome::Fail), ("fb-simple", Outcome::Warn)]
    );
    assert_eq!(
        with("PL011_CONSOLE=y", "PL011_CONSOLE=m"),
        [("console", Outcome::Fail), ("machine-console", Outcome::Warn)]
    );
    assert_eq!(with("CONFIG_DEVTMPFS_MOUNT=y\n", ""), [("console", Outcome::Warn)]);
}

#[test]
fn what_the_board_says_is_read_and_what_it_does_not_say_is_no_pass() {
    let with = |line: &str, config: &str| {
        let target = pi3(line, config);
        let found = not_good(|given| given.target = Some(Box::leak(Box::new(target))));
        found.into_iter().map(|(id, outcome, _)| (id, outcome)).collect::<Vec<_>>()
    };
    let off = "dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=0";
    assert_eq!(with("rootwait", ""), [("dwc-otg-fiq", Outcome::Warn)]);
    assert_eq!(with(off, "auto_initramfs=1\n"), [("initramfs", Outcome::Warn)]);
    assert_eq!(with(off, "# auto_initramfs=1\ninitramfs initrd.img followkernel\n"), [("initramfs", Outcome::Warn)]);
    let nothing = not_good(|given| (given.target, given.config, given.boot_free_bytes) = (None, None, None));
    assert_eq!(nothing.len(), 12, "{nothing:?}");
    assert!(nothing.iter().all(|(_, outcome, fix)| *outcome == Outcome::Unknown && !fix.is_empty()), "{nothing:?}");
    let mut denied = pi3(off, "");
    denied.set("/boot/firmware/cmdline.txt", Read::Denied);
    let found = not_good(|given| given.target = Some(Box::leak(Box::new(denied))));
    assert_eq!(found[0].1, Outcome::Unknown);
}
