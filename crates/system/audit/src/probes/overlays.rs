//! Overlays of a Raspberry Pi's config.txt, and whether they enable SPI: `Name:` and `Info:` of boot/overlays/README of
//! raspberrypi/firmware, and the fragments of the overlays (arch/arm/boot/dts/overlays of raspberrypi/linux).

use super::Probe;
use super::config_txt::{READS, some};
use crate::config_txt::Line;

pub(super) const PROBES: &[Probe] = &[
    // Lines that enable SPI.
    Probe { name: "pi-spi", with: &[], reads: READS, run: |sight, _, notes| some(sight, notes, enables_spi) },
    // Overlays that may or may not enable SPI.
    Probe {
        name: "pi-spi-perhaps",
        with: &[],
        reads: READS,
        run: |sight, _, notes| some(sight, notes, may_enable_spi),
    },
];

/// Overlays of devices on an SPI bus. Those of several buses need an overlay `spi1-…` or `spi2-…` for the other ones.
/// The last ones are not in README: LCD-show of goodtft, waveshare-dtoverlays of swkim01.
const SPI: &[&str] = &[
    "adafruit-st7735r",
    "adafruit18",
    "ads7846",
    "anyspi",
    "at86rf233",
    "cirrus-wm5102",
    "enc28j60",
    "enc28j60-spi2",
    "fbtft",
    "gc9a01",
    "hy28a",
    "hy28b",
    "hy28b-2017",
    "jedec-spi-nor",
    "maxtherm",
    "mcp23s17",
    "mcp2515",
    "mcp2515-can0",
    "mcp2515-can1",
    "mcp251xfd",
    "mcp3008",
    "mcp3202",
    "media-center",
    "minipitft13",
    "mipi-dbi-spi",
    "mz61581",
    "papirus",
    "pifacedigital",
    "piscreen",
    "piscreen2r",
    "pisound",
    "pitft22",
    "pitft28-capacitive",
    "pitft28-resistive",
    "pitft35-resistive",
    "qca7000",
    "rpi-cirrus-wm5102",
    "rpi-display",
    "rpi-tv",
    "sainsmart18",
    "sc16is752-spi0",
    "sc16is752-spi1",
    "seeed-can-fd-hat-v1",
    "seeed-can-fd-hat-v2",
    "sh1106-spi",
    "si446x-spi0",
    "spi-rtc",
    "ssd1306-spi",
    "ssd1327-spi",
    "ssd1331-spi",
    "ssd1351-spi",
    "tinylcd35",
    "tpm-slb9670",
    "w5500",
    "watterott-display",
    "waveshare-can-fd-hat-mode-a",
    "waveshare-can-fd-hat-mode-b",
    "tft35a",
    "waveshare32b",
    "waveshare35a",
    "waveshare35b",
    "waveshare35b-v2",
    "waveshare35c",
];

/// Overlays without a device on an SPI bus. A name that ends in `*` is a prefix.
const OTHERS: &[&str] = &[
    "act-led",
    "ads1015",
    "ads1115",
    "allo-*",
    "arducam-*",
    "audioinjector-*",
    "audremap",
    "camera-mux-*",
    "cma",
    "dht11",
    "disable-*",
    "dpi*",
    "dwc-otg",
    "dwc2",
    "edt-ft5406",
    "goodix",
    "gpio-*",
    "hdmi-backlight-hwhack-gpio",
    "hifiberry-amp*",
    "hifiberry-dac*",
    "hifiberry-digi*",
    "i2c*",
    "i2s-*",
    "imx*",
    "iqaudio-*",
    "justboom-*",
    "max98357a",
    "mcp23017",
    "mcp342x",
    "midi-uart*",
    "miniuart-bt",
    "mmc",
    "ov5647",
    "ov9281",
    "pca953x",
    "pcf857x",
    "pcie-32bit-dma*",
    "pciex1-compat-pi5",
    "pi3-*",
    "pps-gpio",
    "pwm*",
    "ramoops*",
    "rotary-encoder",
    "rpi-backlight",
    "rpi-dac*",
    "rpi-ft5406",
    "rpi-poe*",
    "rpi-sense*",
    "rpivid-v4l2",
    "sc16is750-i2c",
    "sc16is752-i2c",
    "sdhost",
    "sdio*",
    "sdtweak",
    "ssd1306",
    "tpm-slb9673",
    "uart*",
    "upstream*",
    "vc4-*",
    "vga666",
    "vl805",
    "w1-gpio*",
];

/// Returns the overlay that a line loads. Parameters follow a comma or, in older files, a colon.
fn overlay(line: &Line) -> Option<&str> {
    let name = line.value().split([',', ':', ' ']).next().unwrap_or_default().trim_end_matches(".dtbo");
    (line.key() == "dtoverlay" && !name.is_empty()).then_some(name)
}

/// Returns true for `spi0-1cs` and the like, except for an overlay that README calls removed.
fn is_bus(name: &str) -> bool {
    let number = name.strip_prefix("spi").and_then(|rest| rest.split_once('-'));
    name != "spi0-hw-cs"
        && number.is_some_and(|(number, _)| number.len() == 1 && number.starts_with(|c: char| c.is_ascii_digit()))
}

fn is_spi(name: &str) -> bool {
    is_bus(name) || SPI.contains(&name)
}

fn enables_spi(line: &Line) -> bool {
    const ON: &[&str] = &["spi", "spi=1", "spi=on", "spi=true", "spi=y", "spi=yes"];
    let is_on = || line.key() == "dtparam" && ON.contains(&line.value().split([' ', '\t']).next().unwrap_or_default());
    overlay(line).map_or_else(is_on, is_spi)
}

fn may_enable_spi(line: &Line) -> bool {
    let is_other = |name: &str| {
        OTHERS.iter().any(|other| other.strip_suffix('*').map_or(name == *other, |begin| name.starts_with(begin)))
    };
    overlay(line).is_some_and(|name| !is_spi(name) && !is_other(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlays_enable_spi_or_not_or_perhaps() {
        for (text, expected) in [
            ("dtparam=spi=on", (true, false)),
            ("dtparam=spi=on # sensor", (true, false)),
            ("dtparam=spi", (true, false)),
            ("dtparam=spi=off", (false, false)),
            ("dtoverlay=spi1-1cs,cs0_pin=24", (true, false)),
            ("dtoverlay=spi0-0cs", (true, false)),
            ("dtoverlay=mcp2515-can0,oscillator=16000000", (true, false)),
            ("dtoverlay=anyspi:spi0-1,dev=\"jedec,spi-nor\"", (true, false)),
            ("dtoverlay=waveshare35a", (true, false)),
            ("dtoverlay=vc4-kms-v3d.dtbo", (false, false)),
            ("dtoverlay=i2c-rtc,ds3231", (false, false)),
            ("dtoverlay=", (false, false)),
            ("dtoverlay=spi0-hw-cs", (false, true)),
            ("dtoverlay=spi-bcm2835-overlay", (false, true)),
            ("dtoverlay=my-panel", (false, true)),
            ("gpu_mem=16", (false, false)),
        ] {
            let line = Line { text: text.to_owned(), unless: String::new() };
            assert_eq!((enables_spi(&line), may_enable_spi(&line)), expected, "{text}");
        }
    }
}
