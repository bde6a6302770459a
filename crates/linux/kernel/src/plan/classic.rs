//! Known problems of kernels before 6.12 on Raspberry Pis, where PREEMPT_RT is a patch.

use super::{Request, Situation, Source};
use crate::{Arch, Board, Series};

const NINETEEN: Series = Series { major: 4, minor: 19 };
const FIVE_FOUR: Series = Series { major: 5, minor: 4 };

/// Returns warnings about a kernel before 6.12 on a Raspberry Pi; empty for every other source.
pub fn warnings(at: &Situation, request: &Request, source: &Source) -> Vec<String> {
    let Source::PiTreePatched { series, patched, branch } = source else { return Vec::new() };
    let mut all = vec![
        "a patch for another sublevel gives a kernel that does not compile, or fails later: kernel fetch only accepts the patch for \
         exactly the release, with fuzz 0"
            .to_owned(),
    ];
    if let Some(pair) = patched {
        all.push(format!(
            "{pair} is known to have been applied to {branch} (https://github.com/raspberrypi/linux/pull/3736)"
        ));
    }
    all.extend(of_board(at, *series));
    if at.board.arch == Arch::Arm {
        all.extend(of_32_bits(at, request));
    }
    all.push(
        "SPI and I2C devices were missing when the overlays belonged to another kernel: the package has its own overlays, and kernel verify compares \
         all devices with those found before"
            .to_owned(),
    );
    all
}

/// Returns a known failure of a series on a board that supports it in principle.
pub fn trouble(board: &Board, series: Series) -> Option<String> {
    board.pi.as_ref()?;
    if !board.usb_dwc_otg {
        return (series == NINETEEN).then(|| {
            "4.19 does not support the USB controller of later revisions of this board: mouse and keyboard do not work (reported by readers of https://lemariva.com/blog/2019/09/raspberry-pi-4b-preempt-rt-kernel-419y-performance-test)"
                .to_owned()
        });
    }
    (series == NINETEEN || series == FIVE_FOUR).then(|| {
        format!(
            "{series} with the published patch alone has not booted on the Raspberry Pi 2 and 3 \
             (https://github.com/raspberrypi/linux/issues/3172, https://github.com/kdoren/linux/issues/1): rpi-{series}.y then needs \
             patches of dwc_otg"
        )
    })
}

fn of_board(at: &Situation, series: Series) -> Vec<String> {
    let mut all = Vec::new();
    if at.board.usb_dwc_otg {
        all.push(
            "USB (keyboard, disk, Ethernet) has locked up on this board with a real-time kernel: dwc_otg's FIQ is turned off in the \
             deploy line, and the driver then costs CPU time, 8000 interrupts a second"
                .to_owned(),
        );
    }
    all.extend(trouble(at.board, series));
    if at.board.usb_dwc_otg && series == NINETEEN {
        all.push(
            "a branch that already contains these patches: use --branch rpi-4.19.y-rt instead of the branch and --patch (4.19.71-rt24)"
                .to_owned(),
        );
    }
    all
}

fn of_32_bits(at: &Situation, request: &Request) -> Vec<String> {
    let mut all = Vec::new();
    if request.hz.is_none() {
        all.push("CONFIG_HZ is 100 in this board's configuration: request another value with --hz 1000".to_owned());
    }
    let (target, cross) = (&at.board.target, &at.board.cross);
    let image = at.board.pi.as_ref().map_or("kernel.img", |pi| pi.image.as_str());
    all.push(format!(
        "{target} is started only under the name {image}, by which the firmware tells 32-bit from 64-bit kernels; kernel deploy uses that name"
    ));
    all.push(format!(
        "the compiler is {cross}gcc: one for another architecture or a mistyped CROSS_COMPILE builds a kernel that never boots; preflight checks it"
    ));
    all
}
