//! Injected faults, each in a whole package of small files.

use super::*;
use punctual_kernel::config::requested as fragment;
use std::path::PathBuf;
use tempfile::TempDir;

const RELEASE: &str = "6.12.9-punctual-rt";
const CONFIG: &str = "CONFIG_SMP=y\nCONFIG_EXPERT=y\nCONFIG_PREEMPT_RT=y\nCONFIG_MODULE_UNLOAD=y\nCONFIG_SPI_BCM2835=m\nCONFIG_I2C_BCM2835=m\n\
                      CONFIG_PINCTRL_BCM2835=y\nCONFIG_USB_HID=m\nCONFIG_HID_GENERIC=m\nCONFIG_USB_DWC2=m\nCONFIG_MMC_BCM2835=y\n\
                      CONFIG_USB_NET_SMSC95XX=m\n";
const MODULES: [&str; 6] = ["spi-bcm2835", "i2c-bcm2835", "usbhid", "hid-generic", "dwc2", "smsc95xx"];

struct Package(TempDir);

impl Package {
    fn whole() -> Package {
        let package = Package(tempfile::tempdir().unwrap());
        package.image("#1 SMP PREEMPT_RT Sun Nov 06 08:49:37 UTC 1994");
        package.put(&format!("boot/config-{RELEASE}"), CONFIG);
        for module in MODULES {
            package.module(module, &format!("{RELEASE} SMP preempt_rt mod_unload aarch64"));
        }
        package
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn image(&self, version: &str) {
        self.put(
            &format!("boot/vmlinuz-{RELEASE}"),
            &format!("code\0Linux version {RELEASE} (p@k) (gcc) {version}\n\0"),
        );
    }

    fn module_path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("lib/modules/{RELEASE}/kernel/{name}.ko"))
    }

    fn module(&self, name: &str, vermagic: &str) {
        let text = format!("\u{7f}ELF\0vermagic={vermagic} \0name=x\0");
        self.put(&self.module_path(name).display().to_string(), &text);
    }

    fn failed(&self) -> Vec<Check> {
        let asked =
            fragment("CONFIG_EXPERT=y\nCONFIG_PREEMPT_RT=y\nCONFIG_SPI_BCM2835=m\nCONFIG_SYSTEM_TRUSTED_KEYS=\"\"\n")
                .unwrap();
        let board = punctual_kernel::board("raspberry-pi-3-64").unwrap();
        let wanted = Wanted { release: RELEASE, requested: Some(&asked), board: Some(board) };
        let checks = package(self.0.path(), &wanted).unwrap();
        assert_eq!(checks.len(), 5);
        checks.into_iter().filter(|check| check.outcome != Outcome::Pass).collect()
    }

    /// Asserts that exactly one check fails, and that its message contains this text.
    fn fails(&self, id: &str, said: &str) {
        let failed = self.failed();
        let ids: Vec<&str> = failed.iter().map(|check| check.id.as_str()).collect();
        assert_eq!(ids, [id], "{failed:#?}");
        assert!(failed[0].outcome == Outcome::Fail && failed[0].found.contains(said), "{failed:#?}");
        assert!(!failed[0].fix.is_empty());
    }
}

#[test]
fn a_whole_package_passes() {
    assert_eq!(Package::whole().failed(), []);
}

#[test]
fn a_kernel_named_rt_that_is_none_is_caught_by_its_image() {
    let package = Package::whole();
    package.image("#1 SMP PREEMPT_DYNAMIC Sun Nov 06 08:49:37 UTC 1994");
    package.fails("preempt-rt", "is not a real-time kernel: uname -v will be `#1 SMP PREEMPT_DYNAMIC");
    // The name alone is not enough.
    let wanted = Wanted { release: RELEASE, requested: None, board: None };
    let checks = super::package(package.0.path(), &wanted).unwrap();
    assert_eq!(checks[1].outcome, Outcome::Fail);
}

#[test]
fn a_dropped_option_is_caught_in_the_package() {
    let package = Package::whole();
    package.put(&format!("boot/config-{RELEASE}"), &CONFIG.replace("CONFIG_EXPERT=y", "# CONFIG_EXPERT is not set"));
    package.fails("requested", "CONFIG_EXPERT: requested y, is n");
}

#[test]
fn a_module_of_another_kernel_is_caught() {
    let package = Package::whole();
    for wrong in ["6.12.9-v8-rt SMP preempt_rt mod_unload aarch64", "6.12.9-punctual-rt SMP preempt mod_unload aarch64"]
    {
        package.module("dwc2", wrong);
        package.fails("vermagic", &format!("1 of 6 modules are for another kernel: dwc2 has `{wrong}`"));
    }
}

#[test]
fn a_missing_driver_of_the_board_is_caught() {
    for (option, part) in
        [("SPI_BCM2835=m", "no SPI: CONFIG_SPI_BCM2835 is off"), ("USB_DWC2=m", "no USB"), ("USB_HID=m", "no HID")]
    {
        let package = Package::whole();
        package.put(&format!("boot/config-{RELEASE}"), &CONFIG.replace(&format!("CONFIG_{option}\n"), ""));
        let failed = package.failed();
        let board = failed.iter().find(|check| check.id == "board").unwrap();
        assert!(board.outcome == Outcome::Fail && board.found.contains(part), "{failed:#?}");
    }
}

#[test]
fn a_driver_whose_module_is_lost_is_caught() {
    let package = Package::whole();
    fs::remove_file(package.0.path().join(package.module_path("usbhid"))).unwrap();
    package.fails("board", "no HID: CONFIG_USB_HID is m, and usbhid.ko is not in the package");
}

#[test]
fn an_image_of_another_build_is_caught() {
    let package = Package::whole();
    package.put(&format!("boot/vmlinuz-{RELEASE}"), "Linux version 6.12.8-rt (p@k) (gcc) #1 SMP PREEMPT_RT x\n\0");
    package.fails("release", "the image is 6.12.8-rt, the package 6.12.9-punctual-rt");
}

#[test]
fn what_cannot_be_read_is_no_pass() {
    let package = Package::whole();
    package.put(&format!("boot/vmlinuz-{RELEASE}"), "packed by something else");
    let failed = package.failed();
    assert!(failed.iter().all(|check| check.outcome == Outcome::Unknown), "{failed:#?}");
    assert_eq!(failed.len(), 2);
}

#[test]
fn names_that_promise_real_time_are_reported() {
    for name in ["6.12.9-v8-rt", "6.6.1-rt77", "6.1.0-47-rt-arm64", "6.12.111+deb12-rt-amd64"] {
        assert!(is_named_rt(name), "{name}");
    }
    for name in ["6.12.9-v8+", "6.12.0-start", "6.1.0-rtx"] {
        assert!(!is_named_rt(name), "{name}");
    }
}
