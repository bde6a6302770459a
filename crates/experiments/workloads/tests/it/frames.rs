//! Frames of the edge detector are complete and repeatable, and take the stated number of steps.

use punctual_workloads::{Canny, Image};

#[test]
fn the_second_frame_is_as_the_first() {
    let mut canny = Canny::new(Image::scene(200, 150, 3).unwrap());
    let first = canny.frame().clone();
    assert_eq!(canny.frame(), &first);
    assert_eq!(canny.frames(), 2);
}

#[test]
fn a_frame_has_as_many_steps_as_it_says() {
    let mut canny = Canny::new(Image::scene(65, 49, 3).unwrap());
    for _ in 0..canny.steps_a_frame() {
        assert_eq!(canny.frames(), 0);
        canny.step();
    }
    assert_eq!(canny.frames(), 1);
}
