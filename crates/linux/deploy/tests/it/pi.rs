//! Evaluates a model of the Raspberry Pi firmware's rules to find what it starts after each step of a deployment; no
//! board is involved.

use punctual_boot::{PiBoot, PiStart, firmware_start};
use punctual_deploy::{DeployError, Deployed, Request, Site, commit, deploy, rollback, verify, worst};
use punctual_kernel::Outcome;
use punctual_machine::Live;
use punctual_testing::deploy::{PI, boot_into, machine, write};
use punctual_testing::fix::Kernel;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const RELEASE: &str = "6.12.9-rt1";
const FOLDER: &str = "boot/firmware";

fn deployed(root: &Path, kernel: &Kernel, package: &Path) -> Result<Deployed, DeployError> {
    let view = Live::under(root);
    let request =
        Request { skip: vec!["processor".into()], add: vec!["dwc_otg.fiq_enable=0".into()], ..Request::default() };
    deploy(&Site { root: root.to_owned(), sys: kernel, view: &view }, package, &request, Path::new("/bin/true"))
}

fn start(root: &Path, boot: PiBoot, usual: &str) -> PiStart {
    firmware_start(&Live::under(root), "/boot/firmware", boot, usual).unwrap()
}

fn content(root: &Path, name: &str) -> String {
    String::from_utf8_lossy(&fs::read(root.join(FOLDER).join(name)).unwrap()).into_owned()
}

fn kept(root: &Path, kernel: &Kernel, id: &str, release: &str, version: &str) {
    boot_into(root, kernel, Some(id), release, version);
    let view = Live::under(root);
    let site = Site { root: root.to_owned(), sys: kernel, view: &view };
    let checks = verify(&site, &|| Ok((Some(true), "12 us".into()))).unwrap();
    assert_eq!(worst(&checks), Outcome::Pass, "{checks:#?}");
    commit(&site, false).unwrap();
}

#[test]
fn the_trial_starts_the_new_kernel_once_and_a_kept_one_always() {
    let (root, kernel, new) = machine(PI, RELEASE);
    let at = root.path();
    let done = deployed(at, &kernel, new.path()).unwrap();
    let id = done.record.unwrap_or_else(|| panic!("{:#?}", done.checks)).id;
    let trial = start(at, PiBoot::Trial, "kernel8.img");
    assert!(trial.has_kernel && !trial.prefix_ignored, "{trial:?}");
    let ours = format!("punctual-{RELEASE}/");
    assert_eq!((trial.prefix.as_str(), trial.overlays.as_str()), (ours.as_str(), format!("{ours}overlays/").as_str()));
    assert_eq!(fs::read(at.join(FOLDER).join(&trial.kernel)).unwrap(), vec![7; 0x300], "the package's image");
    assert_eq!(content(at, &format!("{ours}bcm2711-rpi-4-b.dtb")), "tree");
    let line = content(at, &trial.cmdline);
    assert!(line.contains("dwc_otg.fiq_enable=0") && line.contains(&format!("punctual.trial={id}")), "{line}");
    let after = start(at, PiBoot::Ordinary, "kernel8.img");
    assert_eq!((content(at, &after.kernel).as_str(), after.prefix.as_str()), ("old", ""));

    kept(at, &kernel, &id, RELEASE, "#1 SMP PREEMPT_RT");
    let always = start(at, PiBoot::Ordinary, "kernel8.img");
    assert_eq!((always.prefix.as_str(), always.has_kernel), (ours.as_str(), true));
    let line = content(at, &always.cmdline);
    assert!(line.contains("dwc_otg.fiq_enable=0") && !line.contains("punctual.trial"), "{line}");
    assert!(!at.join(FOLDER).join("tryboot.txt").exists());
    assert_eq!(content(at, "kernel8.img"), "old", "the old kernel stays");
}

#[test]
fn a_copy_that_was_cut_short_starts_the_old_kernel() {
    for lost in ["bcm2711-rpi-4-b.dtb", "kernel8.img"] {
        let (root, kernel, new) = machine(PI, RELEASE);
        assert!(deployed(root.path(), &kernel, new.path()).unwrap().record.is_some());
        fs::remove_file(root.path().join(FOLDER).join(format!("punctual-{RELEASE}")).join(lost)).unwrap();
        let trial = start(root.path(), PiBoot::Trial, "kernel8.img");
        assert!(trial.prefix_ignored, "{lost}: {trial:?}");
        assert_eq!(content(root.path(), &trial.kernel), "old", "{lost}");
    }
}

/// Returns a package of a 32-bit kernel with the real-time patch of 4.19, and with the version string of such kernels
/// (raspberrypi/linux issue 3172).
fn classic(release: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut image = vec![7; 0x300];
    image[36..40].copy_from_slice(&[0x18, 0x28, 0x6f, 0x01]);
    write(at, &format!("boot/vmlinuz-{release}"), image);
    write(at, &format!("boot/config-{release}"), "CONFIG_PREEMPT=y\nCONFIG_PREEMPT_RT_FULL=y\n");
    let module = format!("\x7fELF\0vermagic={release} SMP preempt mod_unload modversions ARMv7 p2v8 \0");
    write(at, &format!("lib/modules/{release}/kernel/drivers/spi.ko"), module);
    write(at, "dtbs/bcm2711-rpi-4-b.dtb", "tree");
    write(at, "dtbs/overlays/spi.dtbo", "overlay");
    folder
}

/// Returns a Raspberry Pi with a 32-bit system: no kernel8.img.
fn of_32_bits(model: &str, image: &str) -> (TempDir, Kernel) {
    let (root, kernel, _) = machine(PI, RELEASE);
    let at = root.path();
    fs::rename(at.join(FOLDER).join("kernel8.img"), at.join(FOLDER).join(image)).unwrap();
    write(at, "proc/device-tree/model", format!("{model}\0"));
    (root, kernel)
}

#[test]
fn a_32_bit_kernel_has_the_name_by_which_the_firmware_starts_one_on_this_model() {
    let release = "4.19.127-rt55-punctual-rt";
    for (model, image) in [
        ("Raspberry Pi 4 Model B Rev 1.1", "kernel7l.img"),
        ("Raspberry Pi 3 Model B Plus Rev 1.3", "kernel7.img"),
        ("Raspberry Pi 2 Model B Rev 1.1", "kernel7.img"),
        ("Raspberry Pi Zero W Rev 1.1", "kernel.img"),
    ] {
        let (root, kernel) = of_32_bits(model, image);
        let (at, new) = (root.path(), classic(release));
        let done = deployed(at, &kernel, new.path()).unwrap();
        let id = done.record.unwrap_or_else(|| panic!("{model}: {:#?}", done.checks)).id;
        let trial = start(at, PiBoot::Trial, image);
        assert_eq!(trial.kernel, format!("punctual-{release}/{image}"), "{model}");
        assert!(trial.has_kernel && !trial.prefix_ignored, "{model}: {trial:?}");
        assert_eq!(content(at, &start(at, PiBoot::Ordinary, image).kernel), "old", "{model}");
        kept(at, &kernel, &id, release, "#1 SMP PREEMPT RT Tue Sep 17 12:10:23 EEST 2019");
        assert_eq!(start(at, PiBoot::Ordinary, image).kernel, format!("punctual-{release}/{image}"), "{model}");
        boot_into(at, &kernel, None, "4.19.66-v7l+", "#1 SMP");
        let view = Live::under(at);
        rollback(&Site { root: at.to_owned(), sys: &kernel, view: &view }).unwrap();
        assert!(!at.join(FOLDER).join(format!("punctual-{release}")).exists(), "{model}");
        assert_eq!(content(at, image), "old", "{model}");
    }
}

#[test]
fn a_32_bit_kernel_on_a_model_that_has_no_name_for_it_is_refused() {
    for model in ["Raspberry Pi 5 Model B Rev 1.0", "Raspberry Pi 9 Model B"] {
        let (root, kernel) = of_32_bits(model, "kernel8.img");
        let error = deployed(root.path(), &kernel, classic("4.19.127-rt55").path()).unwrap_err().to_string();
        assert!(error.contains("32-bit kernel") && !root.path().join(FOLDER).join("tryboot.txt").exists(), "{error}");
    }
}

#[test]
fn a_patched_kernel_of_before_5_3_that_is_only_called_rt_is_caught() {
    let (root, kernel) = of_32_bits("Raspberry Pi 4 Model B Rev 1.1", "kernel7l.img");
    let new = classic("4.19.127-rt55");
    write(new.path(), "boot/config-4.19.127-rt55", "CONFIG_PREEMPT=y\n# CONFIG_PREEMPT_RT_FULL is not set\n");
    let done = deployed(root.path(), &kernel, new.path()).unwrap();
    assert!(done.record.is_none());
    let failed: Vec<&str> = done.checks.iter().filter(|c| c.outcome == Outcome::Fail).map(|c| c.id).collect();
    assert_eq!(failed, ["preempt-rt"], "{:#?}", done.checks);
}
