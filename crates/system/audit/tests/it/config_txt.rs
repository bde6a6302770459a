//! config.txt files as users write them.

use punctual_audit::{Context, Profile, Rules};
use punctual_machine::{Given, Kind, Read, Recorded};
use punctual_model::State;
use punctual_units::{Priority, Scheduling};

const PI_4: &str = "Raspberry Pi 4 Model B Rev 1.4\0";
const ZERO_2: &str = "Raspberry Pi Zero 2 W Rev 1.0\0";

fn context() -> Context {
    let scheduling = Scheduling::Fifo { priority: Priority::try_from(90).unwrap() };
    Context { scheduling, cpus: "".parse().unwrap(), profile: Profile::ControlLoop }
}

#[track_caller]
fn expect(text: &str, model: Option<&str>, id: &str, state: State, part: &str) {
    let mut given = Given::new();
    given.add("config.txt", text.as_bytes(), None).unwrap();
    if let Some(model) = model {
        given.add("model", model.as_bytes(), Some(Kind::Model)).unwrap();
    }
    let findings = Rules::embedded().audit(&given, &context());
    let found = findings.iter().find(|finding| finding.id == id).unwrap();
    assert!(found.state == state && found.summary.contains(part), "{id}: {:?} {}", found.state, found.summary);
}

#[test]
fn the_last_value_counts() {
    expect("force_turbo=1\nforce_turbo=0\n", None, "rpi-force-turbo", State::Warn, "");
    expect("force_turbo=0\nforce_turbo=1\n", None, "rpi-force-turbo", State::Pass, "");
}

#[test]
fn an_unknown_board_leaves_open_what_only_some_boards_do() {
    let first = "except the stock ones of a first Raspberry Pi";
    expect("gpu_mem=16\n", None, "rpi-force-turbo", State::Warn, first);
    expect("arm_64bit=1\n", None, "rpi-force-turbo", State::Warn, "clocks change with the load");
    // The overlay shows the processor; on a Compute Module 4 the primary UART may be another one.
    let text = "dtparam=spi=on\nenable_uart=1\ndtoverlay=vc4-kms-v3d-pi4\n";
    expect(text, None, "rpi-core-freq-uart-spi", State::Info, "depends on the board");
    expect(text, Some(PI_4), "rpi-core-freq-uart-spi", State::Pass, "primary UART");
}

#[test]
fn filters_that_cannot_be_told_leave_it_open() {
    let text = "[gpio4=1]\n[pi4]\nforce_turbo=1\n";
    expect(text, Some(PI_4), "rpi-force-turbo", State::Skip, "[gpio4=1]");
    expect(text, Some(ZERO_2), "rpi-force-turbo", State::Warn, "");
    expect("[pi3]\nforce_turbo=1\n", Some(ZERO_2), "rpi-force-turbo", State::Warn, "");
    expect("[pi02]\nforce_turbo=1\n", Some(ZERO_2), "rpi-force-turbo", State::Pass, "");
    // A section without any setting of the rule does not matter.
    expect("force_turbo=1\n[EDID=x]\nhdmi_group=2\n", Some(PI_4), "rpi-force-turbo", State::Pass, "");
}

#[test]
fn an_included_file_is_read_or_asked_for() {
    let text = "include usercfg.txt\n";
    expect(text, None, "rpi-force-turbo", State::Skip, "usercfg.txt");
    // What it sets comes last.
    for id in ["rpi-force-turbo", "rpi-core-freq-uart-spi"] {
        expect("force_turbo=1\ninclude usercfg.txt\n", Some(PI_4), id, State::Skip, "usercfg.txt");
    }
    let mut machine = Recorded::default();
    let known = |text: &str| Read::Known(text.as_bytes().to_vec());
    machine.set("/proc/device-tree/model", known(PI_4));
    machine.set("/boot/firmware/config.txt", known(text));
    machine.set("/boot/firmware/usercfg.txt", known("force_turbo=1\n"));
    let findings = Rules::embedded().audit(&machine, &context());
    let found = findings.iter().find(|finding| finding.id == "rpi-force-turbo").unwrap();
    assert_eq!(found.state, State::Pass, "{}", found.summary);
}

#[test]
fn kernel_parameters_stand_elsewhere() {
    let text = "isolcpus=3\ndwc_otg.fiq_enable=0\n";
    expect(text, None, "rpi-boot-files", State::Fail, "isolcpus=3");
}

#[test]
fn what_is_no_overclocking_is_none() {
    expect("hdmi_pixel_freq_limit=400000000\narm_freq_min=1400\n", None, "rpi-overclock", State::Pass, "");
    expect("force_turbo=1\nover_voltage=0\n", None, "rpi-overclock", State::Pass, "");
    expect("over_voltage=-2\n", None, "rpi-overclock", State::Pass, "");
    expect("force_turbo=1\nover_voltage=0\n", None, "rpi-force-turbo", State::Pass, "");
    expect("force_turbo=1\nover_voltage=2\n", None, "rpi-force-turbo", State::Fail, "");
    // A Raspberry Pi 5 runs at 2400 MHz, the first 64-bit model at 900 MHz.
    let asked = "given files: the board model that decides the stock clock";
    expect("arm_freq=2000\n", None, "rpi-overclock", State::Skip, asked);
    expect("arm_freq=2500\n", None, "rpi-overclock", State::Info, "arm_freq=2500");
    let open = "over_voltage=2, arm_freq=2000 (the board model that decides the stock clock was not given)";
    expect("over_voltage=2\narm_freq=2000\n", None, "rpi-overclock", State::Info, open);
    expect("arm_freq=900\narm_control=0x200\n", None, "rpi-overclock", State::Pass, "");
    expect("arm_freq=2400\ndtoverlay=disable-bt-pi5\n", None, "rpi-overclock", State::Pass, "");
    expect("dtoverlay=sdtweak,overclock_50=100\n", None, "rpi-overclock", State::Info, "overclock_50=100");
    expect("dtparam=sd_overclock=50\n", None, "rpi-overclock", State::Pass, "");
}
