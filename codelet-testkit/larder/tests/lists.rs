//! The lists as a person sees them.

use larder::{report, store};

const FRIDGE: &str = "milk;1000;ml;2031-04-05\nbutter;250;g;2031-05-01\neggs;6;pc;2031-04-07\n";

#[test]
fn a_shelf_survives_its_file() {
    let shelf = store::parse(FRIDGE, "fridge").unwrap();
    assert_eq!(store::render(&shelf), FRIDGE);
}

#[test]
fn the_list_says_tomorrow_and_in_two_days() {
    let shelf = store::parse(FRIDGE, "fridge").unwrap();
    let list = report::today(&[shelf], "2031-04-05".parse().unwrap(), 3);
    assert!(list.contains("today"), "{list}");
    assert!(list.contains("in 2 days"), "{list}");
    assert!(!list.contains("butter"), "{list}");
}

#[test]
fn a_long_name_with_umlauts_is_cut_between_characters() {
    let shelf = store::parse("Königsberger Klößße;2;pc;2031-04-06\n", "freezer").unwrap();
    let list = report::today(&[shelf], "2031-04-05".parse().unwrap(), 3);
    assert!(list.contains("Königsberger Klöß"), "{list}");
}
