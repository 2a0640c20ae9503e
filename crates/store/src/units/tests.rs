//! Durations, ticks and rates against numbers computed by hand.

use super::*;
use proptest::prelude::*;

fn duration(text: &str) -> Duration {
    text.parse().unwrap()
}

fn duration_error(text: &str) -> String {
    text.parse::<Duration>().unwrap_err().to_string()
}

#[test]
fn windows_are_floored_exactly() {
    // 2 ns / 156.25 ps = 12.8; 1 µs / 156.25 ps = 6400 exactly.
    for (text, ticks) in
        [("2ns", 12), ("2 ns", 12), ("1us", 6400), ("1µs", 6400), ("1μs", 6400), ("13t", 13)]
    {
        assert_eq!(duration(text).window(Tick::DEFAULT), Ok(ticks), "{text}");
    }
    // A third of a picosecond: 1 ps is three ticks, and just below it two.
    let third: Tick = "1/3ps".parse().unwrap();
    assert_eq!(duration("1ps").window(third), Ok(3));
    assert_eq!(duration("0.999999999999ps").window(third), Ok(2));
    assert_eq!(duration("0ns").window(Tick::DEFAULT), Ok(0));
}

#[test]
fn windows_that_mean_nothing_are_refused() {
    let below = duration("100ps").window(Tick::DEFAULT).unwrap_err().to_string();
    assert_eq!(
        below,
        "`100ps` is shorter than one tick of 156.25 ps; use at least 156.25ps (1t), or 0t to \
         count equal times"
    );
    assert!(matches!(duration("-2ns").window(Tick::DEFAULT), Err(UnitError::Negative { .. })));
    for no_wait in ["-1s", "5t"] {
        let refused = duration(no_wait).on_the_clock();
        assert!(matches!(refused, Err(UnitError::NoWait { .. })), "{no_wait}");
    }
    let waited = std::time::Duration::from_millis(1_500);
    assert_eq!(duration("1.5s").on_the_clock().unwrap(), waited);
    assert!(matches!("2".parse::<Duration>(), Err(UnitError::NoUnit { .. })));
    assert!(matches!("2parsec".parse::<Duration>(), Err(UnitError::UnknownUnit { .. })));
    assert!(matches!("ns".parse::<Duration>(), Err(UnitError::Malformed { .. })));
    assert!(matches!("1.5t".parse::<Duration>(), Err(UnitError::Malformed { .. })));
    assert!(matches!("1.2.3ns".parse::<Duration>(), Err(UnitError::Malformed { .. })));
    assert!(matches!(
        duration("999999h").nearest("1as".parse().unwrap()),
        Err(UnitError::OutOfRange { .. })
    ));
    for text in ["99999999999999999999ns", "9223372036854775808t", "1e400s"] {
        assert!(text.parse::<Duration>().is_err(), "{text}");
    }
    assert_eq!(duration("-999999999999999999t").nearest(Tick::DEFAULT), Ok(-(10_i64.pow(18) - 1)));
}

#[test]
fn exponents_and_a_zero_without_a_unit_are_read() {
    for (text, same) in [
        ("2e-9s", "2ns"),
        ("2.5e3ps", "2.5ns"),
        ("-1E+3 ns", "-1us"),
        ("1e0t", "1t"),
        ("0", "0t"),
        ("-0.0", "0t"),
    ] {
        let ticks = |text: &str| duration(text).fraction(Tick::DEFAULT);
        assert_eq!(ticks(text), ticks(same), "{text}");
    }
    for (text, said) in [
        ("2e-9", "write 2e-9s"),
        ("5", "write 5ns, 5ps, 5us or 5t (whole ticks)"),
        ("0..1ms", "one duration is expected here, as 1ms"),
        ("1e39s", "outside what can be counted"),
        ("1e-39s", "outside what can be counted"),
        ("1e99999999999s", "no unit is called"),
        ("1es", "no unit is called `es`"),
        ("320MHz", "did you mean 3.125ns?"),
        ("80.2 MHz", "did you mean 12.46882793ns?"),
        ("0kHz", "no unit is called `kHz`; the units"),
    ] {
        let refused = text.parse::<Duration>().unwrap_err().to_string();
        assert!(refused.contains(said), "{text}: {refused}");
    }
    assert_eq!("2.5e2ps".parse::<Tick>(), "250ps".parse());
    assert_eq!(Tick::of_decimal("9.6e-11"), "96ps".parse());
    assert_eq!("4".parse::<Tick>().unwrap_err().to_string(), "`4` has no unit; write 4ps");
}

#[test]
fn a_unit_that_is_none_is_read_as_it_was_meant() {
    for (text, meant) in [
        ("2nanosec", "2ns"),
        ("2 nsec", "2ns"),
        ("-4.0625 NS", "-4.0625ns"),
        ("1 microseconds", "1us"),
        ("3 sec", "3s"),
        ("5mins", "5min"),
        ("2 hrs", "2h"),
        ("13 ticks", "13t"),
    ] {
        let error = duration_error(text);
        assert!(error.contains(&format!("did you mean {meant}?")), "{text}: {error}");
        assert!(meant.parse::<Duration>().is_ok(), "{meant}");
    }
    for text in ["2 parsec", "2n", "2 light years", "2xs"] {
        assert!(!duration_error(text).contains("did you mean"), "{text}");
    }
    for (text, meant) in [("100khz", "100kHz"), ("5 kcps", "5kHz"), ("7 counts/s", "7Hz")] {
        let error = text.parse::<Frequency>().unwrap_err().to_string();
        assert!(error.contains(&format!("did you mean {meant}?")), "{text}: {error}");
    }
}

#[test]
fn a_full_width_holds_an_odd_number_of_ticks() {
    // 25 ticks are 3.90625 ns, 26 are 4.0625 ns.
    for (text, window) in
        [("3.90625ns", 12), ("4ns", 12), ("4.21874ns", 12), ("4.21875ns", 13), ("1t", 0)]
    {
        assert_eq!(duration(text).window_of_full_width(Tick::DEFAULT), Ok(window), "{text}");
    }
    for text in ["100ps", "0ns", "-4ns"] {
        let error = duration(text).window_of_full_width(Tick::DEFAULT).unwrap_err();
        assert!(matches!(error, UnitError::WidthBelowTick { .. }), "{error}");
    }
}

#[test]
fn a_bin_is_whole_or_its_neighbours_are_named() {
    assert_eq!(duration("937.5ps").bin(Tick::DEFAULT), Ok(6));
    let error = duration("1ns").bin(Tick::DEFAULT).unwrap_err().to_string();
    assert_eq!(error, "`1ns` is 6.4 ticks of 156.25 ps; use 937.5ps (6t) or 1.09375ns (7t)");
    let odd: Tick = "81ps".parse().unwrap();
    let error = duration("100ps").bin(odd).unwrap_err().to_string();
    assert_eq!(error, "`100ps` is 1.2346 ticks of 81 ps; use 81ps (1t) or 162ps (2t)");
    let error = duration("81.00001ps").bin(odd).unwrap_err().to_string();
    assert!(error.starts_with("`81.00001ps` is 1.000000123"), "{error}");
    let third: Tick = "1/3ps".parse().unwrap();
    let error = duration("0.5ps").bin(third).unwrap_err().to_string();
    assert_eq!(error, "`0.5ps` is 1.5 ticks of 1/3 ps; use 1t or 2t");
    for text in ["0t", "-3t", "-0.1ps"] {
        assert!(duration(text).bin(Tick::DEFAULT).is_err(), "{text}");
    }
}

#[test]
fn delays_round_half_away_from_zero() {
    let tick: Tick = "2ns".parse().unwrap();
    for (text, ticks) in [("1ns", 1), ("-1ns", -1), ("0.9ns", 0), ("-0.9ns", 0), ("3ns", 2)] {
        assert_eq!(duration(text).nearest(tick), Ok(ticks), "{text}");
    }
    assert!(duration("-4.0625ns").is_whole(Tick::DEFAULT).unwrap());
    assert!(!duration("-4ns").is_whole(Tick::DEFAULT).unwrap());
}

#[test]
fn ticks_read_and_write() {
    assert_eq!(Tick::DEFAULT, "156.25ps".parse().unwrap());
    assert_eq!(Tick::DEFAULT.to_string(), "156.25 ps");
    assert_eq!("4ps".parse::<Tick>().unwrap().to_string(), "4 ps");
    assert_eq!("1/3ps".parse::<Tick>().unwrap().to_string(), "1/3 ps");
    // 1e18 / 12.288e9 = 81380208 1/3 as.
    let clock: Tick = "1/12.288GHz".parse().unwrap();
    assert_eq!(clock.fraction(), "244140625/3");
    // A reader gets four digits where all of them are no help; a command gets all.
    let clocked = Tick::from_fraction("9696969697/100").unwrap();
    for (tick, shown, pasted) in [
        (clock, "81.38 ps", "125/1536ns"),
        (clocked, "96.97 ps", "9696969697/100as"),
        (Tick::DEFAULT, "156.25 ps", "156.25ps"),
        ("1/3ps".parse().unwrap(), "1/3 ps", "1/3ps"),
        ("1.5us".parse().unwrap(), "1.5 µs", "1.5us"),
    ] {
        assert_eq!((tick.to_string().as_str(), tick.paste().as_str()), (shown, pasted));
        assert_eq!((pasted.parse(), tick.exact().replace(' ', "").parse()), (Ok(tick), Ok(tick)));
    }
    for bad in ["0ps", "-1ps", "12.288GHz", "1/0ps", "1/0Hz", "13t", "1ns/3", "", "x", "1/3"] {
        assert!(bad.parse::<Tick>().is_err(), "{bad}");
    }
    for bad in ["", "1", "1/0", "-1/2", "a/b", "1/2/3"] {
        assert!(Tick::from_fraction(bad).is_err(), "{bad}");
    }
}

#[test]
fn times_are_shown_as_a_reader_wants_them() {
    let tick = Tick::DEFAULT;
    assert_eq!(tick.format(12), "1.875 ns");
    assert_eq!(tick.format(25), "3.90625 ns");
    assert_eq!(tick.format(-26), "-4.0625 ns");
    assert_eq!(tick.format(6400), "1 µs");
    // 14827730247 ticks are 2.31683285109375 s.
    assert_eq!(tick.format(14_827_730_247), "2.31683285 s");
    assert_eq!(tick.format(0), "0 s");
    assert_eq!(tick.format_paste(6400), "1us");
    assert_eq!("1/3ps".parse::<Tick>().unwrap().format_paste(1), "1t");
    // 64563604257983430649 s would be the answer, which is of 20 digits.
    assert_eq!("7s".parse::<Tick>().unwrap().format_paste(i64::MAX), "9223372036854775807t");
    assert_eq!("1s".parse::<Tick>().unwrap().format(1_234_567_890_123), "1234567890123 s");
    // -2^127 as.
    let smallest = "-170141183460469231731687303715884105728 ticks";
    assert_eq!("1as".parse::<Tick>().unwrap().format(i128::MIN), smallest);
}

#[test]
fn advice_has_a_unit_of_time() {
    let tick: Tick = "4ps".parse().unwrap();
    assert_eq!(tick.format_paste(1 << 28), "1.073741824ms");
    assert_eq!(tick.about(1 << 28, " "), "1.1 ms");
    assert_eq!(Tick::DEFAULT.about(1, ""), "156.25ps");
    assert_eq!(Tick::DEFAULT.about(64, ""), "10ns");
    let clock: Tick = "1/12.288GHz".parse().unwrap();
    for ticks in [1, -13, 127, 98_765, 123_456_789] {
        let text = clock.paste_nearest(ticks);
        assert!(!text.ends_with('t'), "{text}");
        assert_eq!(text.parse::<Duration>().unwrap().nearest(clock), Ok(ticks));
        let about = clock.about(ticks.abs(), "");
        let window = about.parse::<Duration>().unwrap().window(clock).unwrap();
        assert!(window >= ticks.abs() && window as f64 <= 1.05 * ticks.abs() as f64, "{about}");
    }
    // 13 / 12.288 GHz = 1.0579427 ns.
    assert_eq!(clock.paste_nearest(13), "1.0579ns");
}

#[test]
fn rates_become_events_per_tick() {
    let rate: Frequency = "100kHz".parse().unwrap();
    // 1e5 / s × 156.25 ps = 1.5625e-5.
    assert!((rate.per_tick(Tick::DEFAULT) - 1.562_5e-5).abs() < 1e-18);
    for bad in ["100", "1ns", "-1Hz", "kHz"] {
        assert!(bad.parse::<Frequency>().is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn ticks_survive_the_manifest(numerator in 1..=i64::MAX, denominator in 1..=i64::MAX) {
        let tick = Tick::from_fraction(&format!("{numerator}/{denominator}")).unwrap();
        prop_assert_eq!(Tick::from_fraction(&tick.fraction()), Ok(tick));
    }

    #[test]
    fn a_window_in_picoseconds_is_an_integer_division(ps in 0_i64..1 << 40, tick in 1_i64..1000) {
        let exact = Tick::from_fraction(&format!("{}/1", i128::from(tick) * 1_000_000)).unwrap();
        let window = duration(&format!("{ps}ps")).window(exact);
        if ps == 0 || ps >= tick {
            prop_assert_eq!(window, Ok(ps / tick));
        } else {
            let below = matches!(window, Err(UnitError::BelowTick { .. }));
            prop_assert!(below);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,24}") {
        let _ = text.parse::<Duration>().map(|d| (d.window(Tick::DEFAULT), d.nearest(Tick::DEFAULT)));
        let _ = text.parse::<Tick>();
    }
}
