use super::*;
use proptest::prelude::*;

const CONFIG_TEXT: &str = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 6.12.9 Kernel Configuration\n#\n\
    CONFIG_X86_64=y\nCONFIG_HZ=250\nCONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT_DYNAMIC=y\n# CONFIG_PREEMPT_RT is not set\n\
    # Kernel hacking\n# end of Kernel hacking\n";

fn kind(name: &str, text: &str) -> Result<Kind, GivenError> {
    Given::new().add(name, text.as_bytes(), None)
}

fn error(name: &str, bytes: &[u8]) -> String {
    Given::new().add(name, bytes, None).unwrap_err().to_string()
}

#[test]
fn kinds_are_told_by_content() {
    for (text, wanted) in [
        (CONFIG_TEXT, Kind::Kconfig),
        ("# CONFIG_PREEMPT_RT is not set\n", Kind::Kconfig),
        ("BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet isolcpus=2-3\n", Kind::Cmdline),
        ("console=serial0,115200 console=tty1 rootwait", Kind::Cmdline),
        ("# defaults\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet isolcpus=2\"\n", Kind::Cmdline),
        ("title x\nlinux /y\noptions ro isolcpus=2\n", Kind::Cmdline),
        ("[ 0.0] Kernel command line: ro isolcpus=2\n", Kind::Cmdline),
        ("# about\ndtparam=audio=on\n[pi4]\narm_boost=1\n", Kind::ConfigTxt),
        ("kernel=vmlinuz\ncmdline=cmdline.txt\n", Kind::ConfigTxt),
        ("initramfs initrd.img followkernel\narm_64bit=1\n", Kind::ConfigTxt),
        ("Raspberry Pi 4 Model B Rev 1.4\0", Kind::Model),
    ] {
        assert_eq!(kind("x", text), Ok(wanted), "{text}");
    }
}

#[test]
fn names_decide_where_content_fits_several() {
    assert_eq!(kind("/tmp/cmdline", "isol=1\n"), Ok(Kind::Cmdline));
    assert_eq!(kind("/boot/config.txt", "over=1\n"), Ok(Kind::ConfigTxt));
    assert_eq!(kind("/boot/config.txt", "dtparam=spi=on\nhdmi_cvt 480 800 60 6\n"), Ok(Kind::ConfigTxt));
    // The content takes precedence over the name.
    assert_eq!(kind("cmdline.txt", CONFIG_TEXT), Ok(Kind::Kconfig));
    assert!(kind("x", "a=1\n").is_err());
}

#[test]
fn the_line_of_a_boot_file_is_read() {
    for said in [None, Some(Kind::Cmdline)] {
        let mut given = Given::new();
        given.add("/etc/default/grub", b"# a\nGRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX=\"isolcpus=2\"\n", said).unwrap();
        assert_eq!(given.read(CMDLINE).text(), Some("isolcpus=2"));
    }
    // A file without any word is not a command line.
    assert!(Given::new().add("uEnv.txt", b"#uname_r=x\n", Some(Kind::Cmdline)).is_err());
}

#[test]
fn a_said_kind_is_checked() {
    let mut given = Given::new();
    assert_eq!(given.add("x", b"a=1", Some(Kind::Cmdline)), Ok(Kind::Cmdline));
    let said = given.add("y", b"a=1", Some(Kind::Kconfig)).unwrap_err().to_string();
    assert!(said.contains("y is not a kernel configuration") && said.contains("CONFIG_HZ"), "{said}");
}

#[test]
fn useless_files_are_refused_with_what_to_type() {
    for (bytes, part) in [
        (&b""[..], "empty"),
        (b" \n\n", "empty"),
        (b"\xff\xfe\0", "is not a text file"),
        (b"a\0b=1", "is not a text file"),
        (b"\xfd7zXZ\0rest", "xz -dc"),
        (b"\x1f\x8bnonsense", "is not a text file"),
        (b"hello world\n", "--config cmdline:x"),
        (b"CONFIG_\n", "CONFIG_"),
        (&vec![b'a'; READ_LIMIT + 1], "4 MiB"),
    ] {
        let said = error("x", bytes);
        assert!(said.contains(part) && said.starts_with("x "), "{part}: {said}");
    }
}

#[test]
fn a_bomb_is_too_large() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..300 {
        std::io::Write::write_all(&mut encoder, "CONFIG_A=y\n".repeat(1 << 12).as_bytes()).unwrap();
    }
    assert!(error("x", &encoder.finish().unwrap()).contains("4 MiB"));
}

#[test]
fn two_of_a_kind_are_two_machines() {
    let mut given = Given::new();
    given.add("a", CONFIG_TEXT.as_bytes(), None).unwrap();
    let said = given.add("b", CONFIG_TEXT.as_bytes(), None).unwrap_err().to_string();
    assert!(said.contains("a and b are both kernel configuration"), "{said}");
    assert_eq!(given.kinds().collect::<Vec<_>>(), [(Kind::Kconfig, "a")]);
}

#[test]
fn a_command_line_beside_the_log_of_its_boot_is_one_machine() {
    let line = "console=ttyPS0,115200 root=/dev/mmcblk0p2 rw\n";
    let log = |line: &str| format!("Linux version 6.1.5 (a@b) (gcc) #1 SMP Fri Jan 13\nKernel command line: {line}");
    let both = |first: &str, second: &str| {
        let mut given = Given::new();
        given.add("cmdline", first.as_bytes(), None).unwrap();
        let answer = given.add("dmesg", second.as_bytes(), None).map_err(|error| error.to_string());
        answer.map(|_| (given.read(CMDLINE).text().map(str::to_owned), given.read(RELEASE).text().map(str::to_owned)))
    };
    let wanted = Ok((Some(line.trim().to_owned()), Some("6.1.5".to_owned())));
    assert_eq!(both(line, &log(line)), wanted);
    assert_eq!(both(&log(line), line), wanted);
    assert!(both(line, &log("root=/dev/sda1\n")).unwrap_err().contains("are both kernel command line"));
}

#[test]
fn only_what_was_given_or_follows_from_it_is_read() {
    let mut given = Given::new();
    assert_eq!(given.read("/proc/cmdline"), Read::NotGiven);
    given.add("my.config", CONFIG_TEXT.as_bytes(), None).unwrap();
    assert_eq!(given.read(ARCH).text(), Some("x86_64"));
    assert_eq!(given.read(VERSION).text(), Some("PREEMPT_DYNAMIC"));
    assert_eq!(given.read(REALTIME), Read::Absent);
    assert_eq!(given.read("/proc/cmdline"), Read::NotGiven);
    assert_eq!(given.list("/proc"), Listing::NotGiven);
    assert_eq!(given.read("relative"), Read::Failed(22));
    assert_eq!(KernelConfig::read(&given).unwrap().version(), Some("6.12.9"));
    assert!(given.origins().any(|(path, origin)| path == CONFIG && origin == "my.config"));
}

#[test]
fn a_cut_configuration_does_not_tell_what_it_leaves_out() {
    let mut given = Given::new();
    given.add("c", b"CONFIG_ARM64=y\nCONFIG_HZ=250\n", None).unwrap();
    assert_eq!(given.read(ARCH).text(), Some("aarch64"));
    assert_eq!(given.read(VERSION), Read::NotGiven);
    assert_eq!(given.read(REALTIME), Read::NotGiven);
}

#[test]
fn a_model_given_replaces_the_guess() {
    let mut given = Given::new();
    given.add("config.txt", b"[pi4]\narm_freq=2000\n", None).unwrap();
    assert_eq!(given.read(MODEL).text(), Some(Given::SOME_PI));
    given.add("model", b"Raspberry Pi 4 Model B Rev 1.4\0", None).unwrap();
    assert_eq!(given.read(MODEL).text(), Some("Raspberry Pi 4 Model B Rev 1.4"));
}

#[test]
fn the_names_of_its_files_tell_the_board() {
    for (text, model) in [
        ("kernel=kernel_2712.img\ndevice_tree=bcm2712-rpi-5-b.dtb\n", "Raspberry Pi 5"),
        ("dtoverlay=vc4-kms-v3d-pi5\n", "Raspberry Pi 5"),
        ("dtparam=audio=on,nvme\n", "Raspberry Pi 5"),
        ("dtparam=pciex1_gen=3\ndtoverlay=vc4-kms-v3d\n", "Raspberry Pi 5"),
        ("dtoverlay=vc4-kms-v3d\ndtoverlay=\ndtparam=pciex1_gen=3\n[cm5]\ndtparam=spi=on\n", "Raspberry Pi 5"),
        // The overlay may have a parameter of this name.
        ("dtoverlay=vc4-kms-v3d\ndtparam=pciex1_gen=3\n", Given::SOME_PI),
        ("dtoverlay=a\n[pi4]\ndtoverlay=\n[all]\ndtparam=pciex1\n", Given::SOME_PI),
        ("dtoverlay=pwm-gpio-fan\ndtparam=fan_temp0=50000\n", Given::SOME_PI),
        ("dtparam=fan_temp0=50000\n", Given::SOME_PI),
        // Other boards ignore the parameter.
        ("[pi4]\narm_boost=1\n[all]\ndtparam=nvme\n", Given::SOME_PI),
        ("dtparam=nvme\n[cm4]\notg_mode=1\n", Given::SOME_PI),
        ("dtparam=uart0_console\n", Given::SOME_PI),
        ("device_tree=bcm2712-rpi-cm5.dtb\ndtparam=pciex1\n", "Raspberry Pi Compute Module 5"),
        ("[pi5]\ndtparam=nvme\n[all]\narm_freq=1\n", Given::SOME_PI),
        ("dtparam=nvme\ndtoverlay=vc4-kms-v3d-pi4\n", Given::SOME_PI),
        ("device_tree=bcm2711-rpi-400.dtb\n", "Raspberry Pi 400"),
        ("[pi4]\ndtoverlay=vc4-fkms-v3d-pi4\n[all]\narm_freq=1\n", Given::SOME_PI),
        ("dtoverlay=disable-bt-pi5\ndevice_tree=bcm2711-rpi-4-b.dtb\n", Given::SOME_PI),
    ] {
        let mut given = Given::new();
        given.add("config.txt", text.as_bytes(), None).unwrap();
        assert_eq!(given.read(MODEL).text(), Some(model), "{text}");
    }
}

#[test]
fn a_name_of_another_device_tree_is_another_board() {
    for (text, is_other) in [
        ("default a\nlabel a\n  linux /Image\n  fdt /sdm632-phone.dtb\n  append ro quiet\n", true),
        ("default a\nlabel a\n  linux /Image\n  fdt /bcm2711-rpi-4-b.dtb\n  append ro quiet\n", false),
        ("default a\nlabel a\n  linux /Image\n  fdt /dtb\n  append ro quiet\n", false),
    ] {
        let mut given = Given::new();
        given.add("extlinux.conf", text.as_bytes(), None).unwrap();
        assert_eq!(given.read(Given::BOARD) != Read::NotGiven, is_other, "{text}");
    }
}

#[test]
fn a_complete_file_of_grub_begins_with_empty_variables() {
    let text = "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX a=1\"\nGRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX b=2\"\n";
    for (name, line) in [("etc/default/grub", "a=1 b=2"), ("50-rt.cfg", "$GRUB_CMDLINE_LINUX a=1 b=2")] {
        let mut given = Given::new();
        given.add(name, text.as_bytes(), None).unwrap();
        assert_eq!(given.read(CMDLINE).text().map(str::trim), Some(line));
    }
}

#[test]
fn parts_end_where_the_file_does() {
    let mut given = Given::new();
    given.add("cmdline", b"ro quiet", None).unwrap();
    assert_eq!(given.read_part(CMDLINE, 3, 100), Read::Known(b"quiet".to_vec()));
    assert_eq!(given.read_part(CMDLINE, u64::MAX, 1), Read::Known(Vec::new()));
}

#[test]
fn the_loader_decides_what_several_lines_are() {
    let text = b"# mine\nroot=/dev/sda1 ro\nthreadirqs\n";
    let mut joined = Given::new();
    joined.add("saved_cmdline", text, None).unwrap();
    assert_eq!(joined.read(CMDLINE).text(), Some("root=/dev/sda1 ro threadirqs"));
    assert_eq!(joined.read(Given::LINES).text(), Some("root=/dev/sda1 ro\nthreadirqs"));
    assert_eq!(joined.read(CMDLINE_TXT), Read::NotGiven);
    joined.add("config.txt", b"[all]\n", None).unwrap();
    assert_eq!(joined.read(CMDLINE).text(), Some("# mine"));
    assert_eq!((joined.read(Given::LINES), joined.read(CMDLINE_TXT).bytes()), (Read::NotGiven, Some(&text[..])));
    let mut noted = Given::new();
    noted.add("proc_cmdline", b"# low latency\nroot=/dev/sda1 ro\n", None).unwrap();
    assert_eq!((noted.read(CMDLINE).text(), noted.read(Given::LINES)), (Some("root=/dev/sda1 ro"), Read::NotGiven));
}

#[test]
fn uname_says_what_a_kernel_of_the_release_says() {
    for (options, arch, version) in [
        (
            "# Linux/x86 5.13.1 Kernel Configuration\nCONFIG_X86_64=y\nCONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y\n# CONFIG_PREEMPT_RT is not set",
            "x86_64",
            "PREEMPT",
        ),
        (
            "# Linux/arm 3.2.102 Kernel Configuration\nCONFIG_ARM=y\nCONFIG_PREEMPT_NONE=y\nCONFIG_PREEMPT_DYNAMIC=y",
            "arm",
            "no preemption flag",
        ),
        ("CONFIG_MIPS=y\nCONFIG_64BIT=y\nCONFIG_PREEMPT_VOLUNTARY=y", "mips64", "no preemption flag"),
        (
            "# Linux/powerpc 6.1.1 Kernel Configuration\nCONFIG_PPC32=y\nCONFIG_PREEMPT_NONE=y",
            "ppc",
            "no preemption flag",
        ),
        ("CONFIG_ARM=y\nCONFIG_CPU_32v7=y\nCONFIG_PREEMPT_RT=y", "armv7l", "PREEMPT_RT"),
    ] {
        let mut given = Given::new();
        given.add("c", format!("{options}\n").as_bytes(), None).unwrap();
        assert_eq!((given.read(ARCH).text(), given.read(VERSION).text()), (Some(arch), Some(version)), "{options}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_answered(name in "[a-z.:/-]{0,12}", bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Given::new().add(&name, &bytes, None);
    }

    #[test]
    fn any_text_is_answered(name in "(cmdline|config.txt|x)", text in "([a-z_#\\[\\]= .0-9]{0,20}\n){0,8}", at in 0_usize..4) {
        let mut given = Given::new();
        let _ = given.add(&name, text.as_bytes(), None);
        let _ = given.add(&name, text.as_bytes(), Some(Kind::ALL[at].0));
        for (path, _) in given.origins() {
            prop_assert!(given.read(path) != Read::NotGiven);
        }
    }
}

#[test]
fn words_that_the_kernel_is_built_with_are_joined() {
    let built_in = |options: &str| CONFIG_TEXT.replace("CONFIG_HZ=250\n", options);
    let before = built_in("CONFIG_CMDLINE_BOOL=y\nCONFIG_CMDLINE=\"pti=on\"\n");
    for is_config_first in [true, false] {
        let mut given = Given::new();
        let mut files = [(".config", before.as_str()), ("cmdline", "ro nopti\n")];
        if !is_config_first {
            files.reverse();
        }
        files.iter().for_each(|(name, text)| _ = given.add(name, text.as_bytes(), None).unwrap());
        assert_eq!(given.read(CMDLINE).text(), Some("pti=on ro nopti"));
        assert_eq!(given.named("of /proc/cmdline"), "of cmdline with CONFIG_CMDLINE of .config");
    }
    let mut alone = Given::new();
    alone.add("c", before.as_bytes(), None).unwrap();
    assert_eq!(alone.read(CMDLINE), Read::NotGiven);
    let mut instead = Given::new();
    let text = built_in("CONFIG_CMDLINE_BOOL=y\nCONFIG_CMDLINE=\"pti=on\"\nCONFIG_CMDLINE_OVERRIDE=y\n");
    instead.add("c", text.as_bytes(), None).unwrap();
    assert_eq!(instead.read(CMDLINE).text(), Some("pti=on"));
    instead.add("line", b"ro isolcpus=2\n", Some(Kind::Cmdline)).unwrap();
    assert_eq!(
        (instead.read(CMDLINE).text(), instead.read(Given::LINES).text()),
        (Some("pti=on"), Some("ro isolcpus=2"))
    );
}

#[test]
fn the_name_of_the_kernels_file_has_release_and_architecture() {
    let line = b"BOOT_IMAGE=/vmlinuz-3.10.0-862.el7.x86_64 ro nohalt\n";
    let mut given = Given::new();
    given.add("cmdline", line, None).unwrap();
    assert_eq!(given.read(RELEASE).text(), Some("3.10.0-862.el7.x86_64"));
    assert_eq!(given.read(ARCH).text(), Some("x86_64"));
    // A configuration has a release of its own.
    given.add("config", CONFIG_TEXT.as_bytes(), None).unwrap();
    assert_eq!(given.read(RELEASE), Read::NotGiven);
    assert_eq!(given.read(ARCH).text(), Some("x86_64"));
}

#[test]
fn a_boot_file_without_parameters_is_named() {
    for (name, text) in [
        ("uEnv.txt", "uname_r=5.10.168-ti-r71\nenable_uboot_overlays=1\n"),
        ("uEnv.txt", "kernel=Image\ndtb=sun50i-h5-board.dtb\nfsck.repair=yes\n"),
        ("armbianEnv.txt", "verbosity=1\noverlays=uart1\n"),
        ("x", "verbosity=1\nbootlogo=false\nrootfstype=ext4\n"),
    ] {
        let said = error(name, text.as_bytes());
        assert!(said.contains("no kernel parameters"), "{said}");
    }
    assert!(!error("x", b"a=1\n").contains("no kernel parameters"));
    for text in
        ["GRUB_CMDLINE_LINUX=\"quiet isolcpus=2\u{201d}\n", "GRUB_CMDLINE_LINUX=\" rd.lvm.lv=a/b panic=1\u{201d}\n"]
    {
        assert!(error("grub", text.as_bytes()).contains("not closed"));
        let named = Given::new().add("line.txt", text.as_bytes(), Some(Kind::Cmdline)).unwrap_err();
        assert!(named.to_string().contains("not closed"), "{named}");
    }
}
