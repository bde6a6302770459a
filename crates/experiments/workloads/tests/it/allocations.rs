use punctual_workloads::{Image, Kind, Work};

#[test]
fn no_step_of_any_workload_allocates() {
    let image = Image::scene(320, 240, 42).unwrap();
    for kind in Kind::ALL {
        let file = tempfile::tempfile().unwrap();
        let mut work = Work::new(kind, &image, Some(file)).unwrap();
        let steps = 3 * work.unit().max(50);
        let counted = allocation_counter::measure(|| (0..steps).for_each(|_| work.step().unwrap()));
        assert_eq!((counted.count_total, counted.bytes_total), (0, 0), "{kind}");
    }
}

#[test]
fn the_counter_sees_an_allocation() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert_eq!(counted.count_total, 1);
}
