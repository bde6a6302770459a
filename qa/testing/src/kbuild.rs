//! A small source tree whose `make` behaves like the kernel's.

use punctual_kbuild::build::Job;
use punctual_kernel::Arch;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Makefile that imitates what the builder uses of the kernel's: O=, dry runs, objects, the kernel release, modules and
/// device trees. `SLOW` is the time that compiling one object takes, s.
const MAKEFILE: &str = r#"
SLOW ?= 0
OBJECTS := $(foreach n,1 2 3 4 5 6 7 8 9 10 11 12,$(O)/$(n).o)
LOCAL = $(shell sed -n 's/^CONFIG_LOCALVERSION="\(.*\)"/\1/p' $(O)/.config | tail -n 1)
defconfig:
	mkdir -p $(O); echo CONFIG_ARM64=y > $(O)/.config
olddefconfig:
	sed -i /CONFIG_DROPPED/d $(O)/.config
prepare modules_prepare:
	mkdir -p $(O)/include/config; echo 6.12.9$(LOCAL) > $(O)/include/config/kernel.release
$(O)/%.o: %.c
	@echo "  CC      $(notdir $@)"; : gcc -c -o $@ $<; sleep $(SLOW); if grep -n BROKEN $< >/dev/null; then echo "$<:3:1: error: expected ';'" >&2; exit 1; fi; cat $< > $@.tmp; echo "$(KBUILD_BUILD_TIMESTAMP) $(KBUILD_BUILD_USER) $(KBUILD_BUILD_VERSION)" >> $@.tmp; mv $@.tmp $@
Image.gz: $(OBJECTS)
	mkdir -p $(O)/arch/arm64/boot; { cat $(OBJECTS); printf 'Linux version %s (punctual@kbuild) (gcc) #1 SMP %s %s\n' "$$(cat $(O)/include/config/kernel.release)" "$$(cat $(O)/real-time 2>/dev/null || echo PREEMPT_RT)" "$(KBUILD_BUILD_TIMESTAMP)"; } | gzip -n > $(O)/arch/arm64/boot/Image.gz; echo > $(O)/System.map
modules dtbs:
	:
modules_install:
	r=$$(cat $(O)/include/config/kernel.release); d=$(INSTALL_MOD_PATH)/lib/modules/$$r; mkdir -p $$d/kernel; for m in spi-bcm2835 i2c-bcm2835 pinctrl-bcm2835 usbhid hid-generic dwc2 smsc95xx; do printf '\177ELF\0vermagic=%s SMP preempt_rt mod_unload aarch64 \0' $$r > $$d/kernel/$$m.ko; done; ln -sfn / $$d/build; echo > $$d/modules.dep
dtbs_install:
	mkdir -p $(INSTALL_DTBS_PATH)/broadcom; echo tree > $(INSTALL_DTBS_PATH)/broadcom/bcm2837-rpi-3-b.dtb
"#;

/// A configuration with all options that the package checks and the image for the SD card require.
pub const CONFIG: &str = "CONFIG_ARM64=y\nCONFIG_OF=y\nCONFIG_MODULES=y\nCONFIG_SMP=y\nCONFIG_EXPERT=y\nCONFIG_PREEMPT_RT=y\nCONFIG_MODULE_UNLOAD=y\n\
    CONFIG_SPI_BCM2835=m\nCONFIG_I2C_BCM2835=m\nCONFIG_PINCTRL_BCM2835=m\nCONFIG_USB_HID=m\nCONFIG_HID_GENERIC=m\nCONFIG_USB_DWC2=m\n\
    CONFIG_USB_NET_SMSC95XX=m\nCONFIG_MMC_BCM2835=y\nCONFIG_MMC_BLOCK=y\nCONFIG_EXT4_FS=y\nCONFIG_DEVTMPFS=y\n\
    CONFIG_LOCALVERSION=\"-punctual-rt\"\nCONFIG_SYSTEM_TRUSTED_KEYS=\"debian/certs/x.pem\"\n";

pub struct Tree(pub TempDir);

impl Default for Tree {
    fn default() -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        let source = tree.source();
        fs::create_dir(&source).unwrap();
        let version = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\nEXTRAVERSION =\n";
        fs::write(source.join("Makefile"), format!("{version}{MAKEFILE}")).unwrap();
        fs::write(source.join("Kconfig"), "mainmenu \"Test\"\n").unwrap();
        for number in 1..=12 {
            fs::write(source.join(format!("{number}.c")), format!("int f{number};\n")).unwrap();
        }
        tree
    }
}

impl Tree {
    pub fn source(&self) -> PathBuf {
        self.0.path().join("source")
    }

    pub fn configured(&self, name: &str) -> PathBuf {
        let out = self.0.path().join(name);
        fs::create_dir_all(&out).unwrap();
        fs::write(out.join(".config"), CONFIG).unwrap();
        out
    }

    pub fn job(&self, out: &Path) -> Job {
        Job {
            tree: self.source(),
            out: out.to_owned(),
            arch: Arch::Arm64,
            cross: None,
            target: "Image.gz".into(),
            jobs: 1,
            epoch: 784_111_777,
            heat: None,
            diagnostic: false,
        }
    }
}

/// Returns true if all programs are installed. Otherwise reports the missing ones, so that no test passes silently
/// without them.
pub fn has(programs: &[&str]) -> bool {
    let missing: Vec<&&str> = programs.iter().filter(|p| Command::new(p).arg("--version").output().is_err()).collect();
    if !missing.is_empty() {
        eprintln!("not tested: {missing:?} not installed");
    }
    missing.is_empty()
}
