use proptest::prelude::*;
use punctual_wires::{Bias, GpioError, Place, wire};

#[test]
fn what_names_no_line_is_refused_with_an_example() {
    for text in ["", ":", ":3", "gpiochip0:", "gpiochip0:-1", "gpiochip0:x", "gpiochip0:4294967296", "/dev/gpiochip0"] {
        let error = text.parse::<Place>().unwrap_err().to_string();
        assert!(error.contains("gpiochip0:17") && error.contains(text), "{error}");
    }
}

proptest! {
    #[test]
    fn a_place_is_read_as_it_is_written(text in "(/dev/)?[a-zA-Z:]{1,8}:[0-9]{1,4}|[A-Z_]{1,8}[0-9]{0,2}|sim") {
        if let Ok(place) = text.parse::<Place>() {
            prop_assert_eq!(place.to_string().parse::<Place>(), Ok(place));
        }
    }
}

#[test]
fn a_pull_of_gpio_sim_can_only_be_driven() {
    let text = "/sys/devices/platform/gpio-sim.0/gpiochip0/sim_gpio3/pull";
    let place: Place = text.parse().unwrap();
    assert_eq!((place.to_string().as_str(), &place), (text, &Place::Pull(text.into())));
    let error = place.input(Bias::Unchanged, false).unwrap_err().to_string();
    assert!(error.contains(text) && error.contains("only be driven"), "{error}");
}

#[test]
fn a_chip_that_is_absent_is_an_error_with_the_command_to_type() {
    let place: Place = "/dev/gpiochip-that-is-absent:1".parse().unwrap();
    let error = place.output(false).unwrap_err();
    assert!(matches!(error, GpioError::Open { .. }), "{error}");
    assert!(error.to_string().contains("gpiochip-that-is-absent"), "{error}");
    assert!("a-line-nobody-has".parse::<Place>().unwrap().input(Bias::PullUp, false).is_err());
}

#[test]
fn edges_of_a_wire_keep_their_order_and_those_without_room_are_counted() {
    let (mut out, input, mut edges) = wire(2).unwrap();
    for level in [true, true, false, true] {
        out.set(level).unwrap();
        assert_eq!(input.value().unwrap(), level);
    }
    let (first, second) = (edges.receive().unwrap(), edges.receive().unwrap());
    assert_eq!((first.level, second.level, edges.receive()), (true, false, None));
    assert!(first.at <= second.at);
    assert_eq!((edges.counts().sent, edges.counts().dropped), (2, 1));
}
