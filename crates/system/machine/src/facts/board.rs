use super::text;
use crate::Machine;

/// Defaults that firmware vendors leave in DMI fields.
const PLACEHOLDERS: &[&str] = &[
    "",
    "to be filled by o.e.m.",
    "default string",
    "system product name",
    "system manufacturer",
    "not specified",
    "none",
];

/// Returns the device tree's model; without one, vendor and product from DMI; without these, the board from DMI.
pub(super) fn name(machine: &dyn Machine) -> Option<String> {
    let dmi = |field: &str| {
        text(machine, &format!("/sys/class/dmi/id/{field}"))
            .filter(|value| !PLACEHOLDERS.contains(&value.to_ascii_lowercase().as_str()))
    };
    let pair = |vendor: &str, product: &str| match (dmi(vendor), dmi(product)) {
        (Some(vendor), Some(product)) if product.starts_with(&vendor) => Some(product),
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (None, product) => product,
        (Some(_), None) => None,
    };
    text(machine, "/proc/device-tree/model")
        .filter(|model| !model.is_empty())
        .or_else(|| pair("sys_vendor", "product_name"))
        .or_else(|| pair("board_vendor", "board_name"))
}
