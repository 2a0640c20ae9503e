//! Conversion of answers to figures, and of figures to files and text.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

use serde_json::json;
use tagq::{Answer, Cells, Column, FigureKind, Provenance, RunFacts, Table, store::Tick};
use tagq_plot::{
    Chart, Figure, FigureName, Limit, Look, Picture, Plot, Quantity, Room, Scale, Shape, text,
};

const PLAIN: Room = Room { columns: 80, lines: 20, is_coloured: false };

fn answer(figure: FigureKind, rows: Table) -> Answer {
    let run = RunFacts {
        path: "data/night <1> & more".into(),
        tick: "156250000/1".into(),
        tick_assumed: true,
        commit: 1,
        tags: 10,
        sources: 1,
        live_s: 2.0,
        elapsed_s: 2.0,
        pulse_period_s: None,
        remarks: Vec::new(),
        channels: Vec::new(),
        names: vec![(15, "Bob".into())],
    };
    let header = "rule all: |\u{394}t| \u{2264} 12 ticks; T = 2 s; tick 156.25 ps (assumed)".into();
    Answer {
        header,
        query: json!({}),
        run,
        singles: None,
        rows,
        total: None,
        provenance: Provenance::default(),
        figure: Some(figure),
    }
}

fn bins(value: [&'static str; 2], is_ratio: bool, is_logarithmic: bool) -> FigureKind {
    let (title, name) = ("Differences of times, 3 to Bob".to_owned(), "3,Bob".to_owned());
    FigureKind::Bins {
        title,
        name: Some(name),
        unit: Tick::DEFAULT,
        labels: ["\u{394}", "counts"],
        value,
        is_ratio,
        is_logarithmic,
    }
}

fn over_time(is_of_pairs: bool) -> FigureKind {
    let title =
        if is_of_pairs { ["Coincidences of", "Coincidences"] } else { ["Rate of", "Rates"] };
    FigureKind::Trace { title, label: "rate", width_s: Some(0.1) }
}

/// Returns a histogram with bins of `width` ticks from `low` on.
fn histogram(low: i64, width: i64, counts: &[u64]) -> Answer {
    let lows: Vec<i64> =
        (low..).step_by(usize::try_from(width).unwrap()).take(counts.len()).collect();
    let rows = Table::default()
        .with(Column::integers("first_tick", lows.into()))
        .with(Column::integers("width_ticks", vec![width; counts.len()].into()))
        .with(Column::counts("count", counts.to_vec().into()))
        .with(Column::floats(
            "count_err",
            floats(counts.iter().map(|&n| (n.max(1) as f64).sqrt())),
        ));
    answer(bins(["count", "count_err"], false, false), rows)
}

/// Returns g2 with edges that grow by a factor of ten, from one tick on.
fn g2(values: &[Option<f64>], is_log: bool) -> Answer {
    let powers = || (0u32..).take(values.len());
    let lows = powers().map(|k| 10i64.pow(k)).collect();
    let widths = powers().map(|k| 9 * 10i64.pow(k)).collect();
    let rows = Table::default()
        .with(Column::integers("first_tick", lows))
        .with(Column::integers("width_ticks", widths))
        .with(Column::floats("g2", values.to_vec().into()))
        .with(Column::floats("g2_err", values.iter().map(|v| v.map(|_| 0.1)).collect()));
    answer(bins(["g2", "g2_err"], true, is_log), rows)
}

fn coincidences(groups: &[&[u16]], counts: &[u64]) -> Answer {
    let rows = Table::default()
        .with(Column::groups("channels", groups.iter().map(|group| group.to_vec()).collect()).key())
        .with(Column::counts("count", counts.to_vec().into()))
        .with(Column::floats("count_err", floats(counts.iter().map(|&n| (n.max(1) as f64).sqrt()))))
        .with(Column::floats("accidentals", floats(counts.iter().map(|_| 2.0))));
    answer(FigureKind::Groups { title: "Coincidences", label: "coincidences" }, rows)
}

/// Returns bins with a row each for channels 3 and 15 and their sum.
fn trace(rates: &[[Option<f64>; 2]]) -> Answer {
    let of = |value: &dyn Fn(usize, usize) -> Option<f64>| {
        let places = (0..rates.len()).flat_map(|bin| (0..3).map(move |at| (bin, at)));
        places.map(|(bin, at)| value(bin, at)).collect::<Cells<Option<f64>>>()
    };
    let channels = [Some(3), Some(15), None].repeat(rates.len());
    let rate = |bin: usize, at: usize| match at {
        2 => rates[bin][0].zip(rates[bin][1]).map(|(a, b)| a + b),
        at => rates[bin][at],
    };
    let rows = Table::default()
        .with(Column::floats("start_s", of(&|bin, _| Some(0.1 * bin as f64))))
        .with(Column::channels("channel", channels.into()).key())
        .with(Column::floats("rate_hz", of(&rate)))
        .with(Column::floats("rate_err_hz", of(&|bin, at| rate(bin, at).map(|_| 10.0))));
    answer(over_time(false), rows)
}

/// Returns the micro times of channels 3 and 15: two bins of 4 ticks in three bins of time, with counts 1, 2, 3 and so on.
fn micro_trace() -> Answer {
    let rows = 12;
    let of = |value: &dyn Fn(i64) -> i64| (0..rows).map(value).collect::<Vec<i64>>();
    let starts = floats((0..rows).map(|row| 0.5 * f64::from(i32::try_from(row / 4).unwrap())));
    let channels = (0..rows).map(|row| Some(if row % 4 < 2 { 3 } else { 15 })).collect();
    let counts: Vec<u64> = (1..=12).collect();
    let rows = Table::default()
        .with(Column::floats("start_s", starts))
        .with(Column::channels("channel", channels).key())
        .with(Column::integers("first_tick", of(&|row| 4 * (row % 2)).into()))
        .with(Column::integers("width_ticks", of(&|_| 4).into()))
        .with(Column::counts("count", counts.into()).err("count_err"))
        .with(Column::floats("count_err", floats((0..12).map(|_| 1.0))));
    answer(
        FigureKind::MapOverTime {
            title: "Micro times over time".into(),
            labels: ["micro time", "tags per bin"],
            value: "count",
            unit: Tick::DEFAULT,
            is_logarithmic: false,
            width_s: Some(0.5),
        },
        rows,
    )
}

/// Returns bins of only channel 3, with their rates, errors, and whether they are partial.
fn unfinished(bins: &[(f64, f64, bool)], is_of_pairs: bool) -> Answer {
    let starts = floats((0..bins.len()).map(|bin| 0.1 * bin as f64));
    let rows = Table::default().with(Column::floats("start_s", starts));
    let rows = if is_of_pairs {
        rows.with(Column::groups("channels", vec![vec![3, 15]; bins.len()].into()).key())
    } else {
        rows.with(Column::channels("channel", vec![Some(3); bins.len()].into()).key())
    };
    let rows = rows
        .with(Column::floats("rate_hz", floats(bins.iter().map(|bin| bin.0))))
        .with(Column::floats("rate_err_hz", floats(bins.iter().map(|bin| bin.1))))
        .with(Column::flags("partial", bins.iter().map(|bin| bin.2).collect()));
    answer(over_time(is_of_pairs), rows)
}

fn floats(values: impl Iterator<Item = f64>) -> Cells<Option<f64>> {
    values.map(Some).collect()
}

fn chart(answer: &Answer) -> Chart {
    match Figure::of(answer).plot {
        Plot::Chart(chart) => chart,
        other => panic!("{other:?}"),
    }
}

/// Returns all kinds of answers, also nearly empty ones.
fn all() -> Vec<(&'static str, Answer)> {
    let pairs: Vec<Vec<u16>> = (1..=4).flat_map(|a| (a + 1..=4).map(move |b| vec![a, b])).collect();
    let pairs: Vec<&[u16]> = pairs.iter().map(Vec::as_slice).collect();
    let many: Vec<Vec<u16>> = (0..100).map(|a| vec![a, a + 1, a + 2]).collect();
    let many: Vec<&[u16]> = many.iter().map(Vec::as_slice).collect();
    let long: Vec<u64> = (0..30_000).map(|k| 100 + k % 7).collect();
    let channels = Table::default()
        .with(Column::channels("channel", vec![Some(3), Some(15), None].into()).key())
        .with(Column::counts("count", vec![0, 7, 7].into()))
        .with(Column::floats("rate_hz", vec![Some(0.0), Some(3.5e6), Some(3.5e6)].into()))
        .with(Column::floats("rate_err_hz", vec![Some(0.5), Some(1e3), Some(1e3)].into()));
    let no_rates = Table::default()
        .with(Column::channels("channel", vec![Some(3), None].into()).key())
        .with(Column::floats("rate_hz", vec![None, None].into()))
        .with(Column::floats("rate_err_hz", vec![None, None].into()));
    vec![
        ("histogram", histogram(-64, 1, &[9; 129])),
        ("long histogram", histogram(0, 2, &long)),
        ("histogram of zeros", histogram(-2, 1, &[0; 5])),
        ("histogram of one bin", histogram(0, 1, &[5])),
        ("histogram of no bins", histogram(0, 1, &[])),
        ("g2", g2(&[Some(0.9), None, Some(1.1), Some(1.0)], false)),
        ("logarithmic g2", g2(&[Some(0.9), None, Some(1.1), Some(1.0)], true)),
        ("g2 without any", g2(&[None, None], true)),
        ("matrix", coincidences(&pairs, &[370, 0, 12, 1_234_567, 5, 6])),
        ("matrix of zeros", coincidences(&pairs, &[0; 6])),
        ("few pairs", coincidences(&[&[3, 15], &[3, 16]], &[61, 3])),
        ("many groups", coincidences(&many, &(0..100).collect::<Vec<_>>())),
        ("no groups", coincidences(&[], &[])),
        ("rates", answer(FigureKind::Rates, channels)),
        ("rates without live time", answer(FigureKind::Rates, no_rates)),
        ("trace", trace(&[[Some(100.0), Some(9e4)], [None, None], [Some(120.0), Some(9.1e4)]])),
        ("trace of one bin", trace(&[[Some(100.0), Some(9e4)]])),
        ("trace without live time", trace(&[[None, None]])),
        ("trace of no bins", trace(&[])),
        ("trace of micro times", micro_trace()),
    ]
}

#[test]
fn bins_are_centred_on_the_ticks_they_hold() {
    let chart = chart(&histogram(-64, 1, &(0..129).collect::<Vec<_>>()));
    let points = &chart.series[0].points;
    assert_eq!((points.len(), points[128].value, chart.shape), (129, Some(128.0), Shape::Columns));
    // Tick 0 extends from −0.5 to 0.5 ticks of 156.25 ps.
    assert!((points[64].from + 78.125e-12).abs() < 1e-20 && points[64].middle().abs() < 1e-20);
    assert!((chart.x.low + 64.5 * 156.25e-12).abs() < 1e-20, "{:?}", chart.x);
    assert_eq!(chart.x.ticks(5).unit, "ns");
    // The axis contains the highest count and its error: 128 + √128.
    assert!(chart.y.low == 0.0 && chart.y.high > 139.3 && chart.y.high < 155.0, "{:?}", chart.y);
}

#[test]
fn a_logarithmic_question_has_a_logarithmic_axis() {
    let values = [Some(0.9), None, Some(1.1), Some(1.0)];
    let log = chart(&g2(&values, true));
    assert_eq!(
        (log.x.scale, log.shape, log.reference),
        (Scale::Logarithmic, Shape::Points, Some(1.0))
    );
    let points = &log.series[0].points;
    // Edges are those of the ticks: 1 to 9 extends from 0.5 to 9.5.
    assert!((log.x.low - 78.125e-12).abs() < 1e-18);
    assert!(
        (points[0].to - 9.5 * 156.25e-12).abs() < 1e-18
            && (points[0].to - points[1].from).abs() < 1e-24
    );
    assert_eq!(points[1].value, None, "what is not defined is no zero");
    assert_eq!(chart(&g2(&values, false)).x.scale, Scale::Linear);
    let note = Figure::of(&g2(&values, true)).note.unwrap();
    assert_eq!(note, "g2 is not defined in 1 of 4 bins");
}

#[test]
fn pairs_are_a_matrix_where_they_fill_one() {
    let pairs: [&[u16]; 6] = [&[3, 15], &[3, 16], &[3, 1], &[15, 16], &[15, 1], &[16, 1]];
    let figure = Figure::of(&coincidences(&pairs, &[1, 2, 3, 4, 5, 6]));
    let Plot::Matrix(matrix) = figure.plot else { panic!("{figure:?}") };
    assert_eq!(matrix.rows, ["3", "Bob", "16"]);
    assert_eq!(matrix.columns, ["Bob", "16", "1"]);
    let none = None;
    let expected = [Some(1), Some(2), Some(3), none, Some(4), Some(5), none, none, Some(6)];
    assert_eq!((matrix.cells.as_slice(), matrix.most()), (&expected[..], 6));
    // A Bell test: two detectors on each side.
    let bell: [&[u16]; 4] = [&[1, 3], &[1, 4], &[2, 3], &[2, 4]];
    assert!(matches!(Figure::of(&coincidences(&bell, &[1, 2, 3, 4])).plot, Plot::Matrix(_)));
    // Not three pairs, pairs in a line, triples, or a repeated pair.
    let twice: [&[u16]; 5] = [&[1, 3], &[1, 4], &[2, 3], &[2, 4], &[2, 4]];
    let line: [&[u16]; 4] = [&[1, 2], &[3, 4], &[5, 6], &[7, 8]];
    let triple: [&[u16]; 5] = [&[1, 3], &[1, 4], &[2, 3], &[2, 4], &[1, 2, 3]];
    for groups in [&pairs[..3], &line, &triple, &twice] {
        let counts = vec![7; groups.len()];
        let Plot::Bars(bars) = Figure::of(&coincidences(groups, &counts)).plot else { panic!() };
        assert_eq!(bars.bars.len(), groups.len());
        assert_eq!((bars.bars[0].value, bars.bars[0].accidentals), (Some(7.0), Some(2.0)));
    }
}

#[test]
fn a_trace_has_a_line_for_each_channel_and_none_for_their_sum() {
    let chart =
        chart(&trace(&[[Some(100.0), Some(9e4)], [None, None], [Some(120.0), Some(9.1e4)]]));
    let names: Vec<&str> = chart.series.iter().map(|series| &*series.name).collect();
    assert_eq!(names, ["3", "Bob"]);
    assert_eq!((chart.y.quantity, chart.y.ticks(6).unit), (Quantity::Rate, "kHz"));
    assert!(chart.y.high < 1e5, "the sum is not drawn: {:?}", chart.y);
    assert!((chart.x.high - 0.3).abs() < 1e-12 && chart.x.low == 0.0);
    let values: Vec<Option<f64>> = chart.series[0].points.iter().map(|point| point.value).collect();
    assert_eq!(values, [Some(100.0), None, Some(120.0)]);
}

#[test]
fn of_too_many_the_highest_are_drawn_and_it_is_said() {
    let groups: Vec<Vec<u16>> = (0..100).map(|a| vec![a, a + 1, a + 2]).collect();
    let groups: Vec<&[u16]> = groups.iter().map(Vec::as_slice).collect();
    let figure = Figure::of(&coincidences(&groups, &(0..100).collect::<Vec<_>>()));
    let Plot::Bars(bars) = &figure.plot else { panic!("{figure:?}") };
    assert_eq!(bars.bars.len(), 40);
    assert!(bars.bars.iter().all(|bar| bar.value >= Some(60.0)), "{bars:?}");
    assert_eq!(figure.note.as_deref(), Some("the 40 highest of 100 groups"));
}

#[test]
fn files_are_what_they_are_called_and_always_the_same() {
    for (what, answer) in all() {
        let figure = Figure::of(&answer);
        let bytes = |picture: Picture| picture.draw(&figure, &answer).unwrap();
        let svg = String::from_utf8(bytes(Picture::Svg)).unwrap();
        let document =
            roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{what}: {e}\n{svg}"));
        let root = document.root_element();
        let size = |name: &str| root.attribute(name).unwrap().parse::<u32>().unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{what}: {svg}");
        let words = document.descendants().filter(|node| node.has_tag_name("text"));
        let words: Vec<&str> = words.filter_map(|node| node.text()).collect();
        assert_eq!(words[0], figure.title, "{what}");
        assert_eq!(words[1], answer.header, "{what}");
        let is_crowded = words.iter().any(|text| text.starts_with("bins together"));
        assert_eq!(is_crowded, what == "long histogram", "{what}");
        let png = bytes(Picture::Png);
        let pixels = tiny_skia::Pixmap::decode_png(&png).unwrap();
        assert_eq!(
            (pixels.width(), pixels.height()),
            (2 * size("width"), 2 * size("height")),
            "{what}"
        );
        let painted = pixels.pixels().iter().filter(|pixel| pixel.red() < 200).count();
        assert!(painted > 5_000, "{what}: {painted} pixels are painted");
        // The tests in Python read it.
        assert!(bytes(Picture::Pdf).starts_with(b"%PDF-"), "{what}");
        let html = String::from_utf8(bytes(Picture::Html)).unwrap();
        let page = without_scripts(html.strip_prefix("<!DOCTYPE html>").unwrap());
        let page = roxmltree::Document::parse(&page).unwrap_or_else(|e| panic!("{what}: {e}"));
        let rows = page.descendants().filter(|node| node.has_tag_name("tr")).count();
        assert_eq!(rows, 1 + answer.rows.len().min(5_000), "{what}");
        assert!(html.contains("content=\"default-src 'none'; script-src 'sha256-"), "{what}");
        for picture in [Picture::Svg, Picture::Pdf, Picture::Png, Picture::Html] {
            assert!(bytes(picture) == bytes(picture), "{what}: {picture:?}");
        }
    }
}

/// Returns a page as one without JavaScript sees it.
fn without_scripts(page: &str) -> String {
    let mut parts = page.split("<script");
    let first = parts.next().unwrap().to_owned();
    first + &parts.map(|part| part.split_once("</script>").unwrap().1).collect::<String>()
}

#[test]
fn a_page_follows_the_screen_and_the_number_of_values() {
    let page = |answer: &Answer, is_dark: bool| {
        let look = Look { is_dark, ..Look::default() };
        let figure = Figure::of_look(answer, &look).unwrap();
        String::from_utf8(Picture::Html.draw(&figure, answer).unwrap()).unwrap()
    };
    let scripts = |page: &str| page.matches("<script").count();
    let few = histogram(0, 1, &[1, 2, 3]);
    assert_eq!(scripts(&page(&few, false)), 2);
    // A page for a dark background is dark on every screen.
    let follows = "@media (prefers-color-scheme: dark)";
    assert!(page(&few, false).contains(follows) && !page(&few, true).contains(follows));
    assert!(page(&few, true).contains("--paper: #15181c"));
    // With more values, it is the picture alone.
    let most = vec![1; 200_000];
    assert_eq!(scripts(&page(&histogram(0, 1, &most), false)), 2);
    let many = page(&histogram(0, 1, &vec![1; 200_001]), false);
    assert!(scripts(&many) == 0 && many.len() < 2_000_000, "{}", many.len());
}

#[test]
fn micro_times_over_time_are_a_map_of_all_channels() {
    let figure = Figure::of(&micro_trace());
    assert_eq!(figure.note.as_deref(), Some("the counts of 2 channels added up"));
    let Plot::Map(map) = figure.plot else { panic!("{:?}", figure.plot) };
    // Rows 1, 2 are of channel 3 and rows 3, 4 of channel 15, in each bin of time.
    let sums = [1 + 3, 2 + 4, 5 + 7, 6 + 8, 9 + 11, 10 + 12].map(|sum| Some(f64::from(sum)));
    assert_eq!((map.columns, map.cells), (3, sums.to_vec()));
    assert!((map.x.low, map.x.high) == (0.0, 1.5), "{:?}", map.x);
    // From half a tick before the first bin to half a tick before the end of the last.
    assert!((map.y.low + 78.125e-12).abs() < 1e-18, "{:?}", map.y);
    assert!((map.y.high - 7.5 * 156.25e-12).abs() < 1e-18, "{:?}", map.y);
}

#[test]
fn the_quantity_that_was_asked_for_is_drawn() {
    let column = |key: &'static str, value: f64| Column::floats(key, floats([value].into_iter()));
    let rows = Table::default()
        .with(Column::groups("channels", vec![vec![3, 15]].into()).key())
        .with(Column::counts("count", vec![7].into()).err("count_err"))
        .with(column("count_err", 2.6))
        .with(column("rate_hz", 3.5).heading("rate").unit(tagq::Unit::Hertz).err("rate_err_hz"))
        .with(column("rate_err_hz", 1.3))
        .with(column("p_a_given_b", 0.25).heading("P(a|b)").unit(tagq::Unit::Percent).err("p_a"))
        .with(column("p_a", 0.1));
    let answer = answer(FigureKind::Groups { title: "Coincidences", label: "coincidences" }, rows);
    let drawn = |quantity: &str| -> Result<(Option<f64>, f64, Quantity, String), String> {
        let look = Look { quantity: Some(quantity.into()), ..Look::default() };
        let figure = Figure::of_look(&answer, &look).map_err(|error| error.to_string())?;
        let Plot::Bars(bars) = figure.plot else { panic!("bars") };
        Ok((bars.bars[0].value, bars.bars[0].err, bars.axis.quantity, figure.title))
    };
    let title = |what: &str| format!("{what} of coincidences, night <1> & more");
    assert_eq!(drawn("rate"), Ok((Some(3.5), 1.3, Quantity::Rate, title("rate"))));
    assert_eq!(drawn("P"), Ok((Some(0.25), 0.1, Quantity::Ratio, title("P(a|b)"))));
    let refused = drawn("car").unwrap_err();
    let expected = "there is no quantity `car` in this answer; it has count, rate_hz, p_a_given_b";
    assert_eq!(refused, expected);
}

#[test]
fn a_figure_has_the_size_that_was_asked_for() {
    for (what, answer) in all() {
        // More bars or rows than a page of this height has room for make it higher.
        let is_long = what == "many groups";
        for size in [(240.0, 240.0), (1_600.0, 1_000.0)] {
            let look = Look { size: Some(size), is_dark: true, ..Look::default() };
            let figure = Figure::of_look(&answer, &look).unwrap();
            let svg = String::from_utf8(Picture::Svg.draw(&figure, &answer).unwrap()).unwrap();
            let document = roxmltree::Document::parse(&svg).unwrap();
            let root = document.root_element();
            let number = |name: &str| root.attribute(name).unwrap().parse::<f64>().unwrap();
            let (width, height) = (number("width"), number("height"));
            assert!((width - size.0).abs() < 1e-9, "{what}: {width}");
            let is_higher = height > size.1 && (is_long || size.1 < 300.0);
            assert!((height - size.1).abs() < 1e-9 || is_higher, "{what}: {height}");
            assert!(svg.contains("#15181c") && svg.contains("#ececec"), "{what}: dark");
        }
    }
    for size in [(10.0, 600.0), (600.0, 1e5), (f64::NAN, 600.0)] {
        let look = Look { size: Some(size), ..Look::default() };
        let refused = Figure::of_look(&histogram(0, 1, &[1, 2]), &look).unwrap_err();
        assert!(refused.to_string().contains("240 to 8000 pixels"), "{refused}");
    }
}

#[test]
fn nothing_in_a_picture_leaves_its_page() {
    for (what, answer) in all() {
        let svg = Picture::Svg.draw(&Figure::of(&answer), &answer).unwrap();
        let svg = String::from_utf8(svg).unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let number = |node: &roxmltree::Node<'_, '_>, name: &str| -> f64 {
            node.attribute(name).unwrap().parse().unwrap()
        };
        let root = document.root_element();
        let (width, height) = (number(&root, "width"), number(&root, "height"));
        for node in document.descendants() {
            if let Some(path) = node.attribute("d") {
                let places = path.split(['M', 'L', 'Z']).filter(|place| !place.is_empty());
                for place in places {
                    let (x, y) = place.split_once(' ').unwrap();
                    let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
                    assert!(
                        (0.0..=width).contains(&x) && (0.0..=height).contains(&y),
                        "{what}: {place}"
                    );
                }
            }
            if node.has_tag_name("text") && node.attribute("transform").is_none() {
                // No letter of these figures is wider than its size, and the average is at most half of it.
                let long = 0.7
                    * number(&node, "font-size")
                    * node.text().unwrap_or("").chars().count() as f64;
                let x = number(&node, "x");
                let (left, right) = match node.attribute("text-anchor").unwrap() {
                    "start" => (x, x + long),
                    "middle" => (x - long / 2.0, x + long / 2.0),
                    _ => (x - long, x),
                };
                assert!(
                    left > -2.0 && right < width + 2.0,
                    "{what}: {:?} {left} {right}",
                    node.text()
                );
            }
        }
    }
}

#[test]
fn text_fits_where_it_is_drawn() {
    for (what, answer) in all() {
        let figure = Figure::of(&answer);
        for columns in [40, 80, 200] {
            for lines in [8, 24, 50] {
                let room = Room { columns, lines, is_coloured: false };
                let drawn = text(&figure, room);
                assert!(!drawn.is_empty() && !drawn.contains('\u{1b}'), "{what}");
                for line in drawn.lines() {
                    assert!(line.chars().count() <= columns, "{what} {columns}:\n{drawn}");
                }
                if let Plot::Chart(_) = figure.plot {
                    let used = drawn.lines().count() - usize::from(figure.note.is_some());
                    assert!(used <= lines, "{what} {lines}: {used}\n{drawn}");
                }
                // With colours the width is the same.
                let coloured = text(&figure, Room { is_coloured: true, ..room });
                for line in without_colours(&coloured).lines() {
                    assert!(line.chars().count() <= columns, "{what} {columns}:\n{coloured}");
                }
            }
        }
    }
}

/// Returns the text without colour codes.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').unwrap().1)
}

#[test]
fn a_histogram_in_the_terminal_is_as_high_as_its_counts() {
    // A peak in the fourth of eight bins, twice as high as the shoulder to its right.
    let drawn = text(&Figure::of(&histogram(-3, 1, &[0, 0, 0, 80, 40, 0, 0, 0])), PLAIN);
    let lines: Vec<&str> = drawn.lines().collect();
    let blocks = |line: &&&str| line.contains('█');
    let full = lines.iter().filter(blocks).count();
    let wide =
        lines.iter().filter(blocks).map(|line| line.matches('█').count()).collect::<Vec<_>>();
    assert!(lines[0].contains("counts") && drawn.contains("(ps)"), "{drawn}");
    // Each bin is an eighth of about 75 columns; the shoulder begins at half height.
    assert!(wide.iter().all(|&wide| (8..=20).contains(&wide)), "{drawn}");
    let with_shoulder = wide.iter().filter(|&&wide| wide > 12).count();
    assert!(with_shoulder.abs_diff(full / 2) <= 1, "{with_shoulder} of {full}:\n{drawn}");
}

#[test]
fn a_matrix_in_the_terminal_has_shades_or_colours() {
    let pairs: [&[u16]; 4] = [&[1, 3], &[1, 15], &[2, 3], &[2, 15]];
    let figure = Figure::of(&coincidences(&pairs, &[4_000, 0, 1_000, 1]));
    let drawn = text(&figure, PLAIN);
    let lines: Vec<&str> = drawn.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["3", "Bob"]);
    assert!(lines[1].contains("4,000 ██") && lines[1].trim_end().ends_with('0'), "{drawn}");
    assert!(lines[2].contains("1,000 ░░") && lines[2].contains("1 ░░"), "{drawn}");
    let coloured = text(&figure, Room { is_coloured: true, ..PLAIN });
    // The map ends light, #fde725, with dark text, and begins dark, #440154, with white text. Of the levels
    // 0, 95, 135, 175, 215 and 255 the nearest are 5, 4, 0 and 1, 0, 1.
    assert!(coloured.contains("\u{1b}[48;5;220;38;5;16m"), "{coloured:?}");
    assert!(coloured.contains("\u{1b}[48;5;53;38;5;231m"), "{coloured:?}");
    assert!(!coloured.contains('█') && !coloured.contains('░'), "{coloured}");
}

#[test]
fn lines_are_told_apart_without_colours() {
    let answer = trace(&[[Some(100.0), Some(9e4)], [Some(1e4), Some(8e4)]]);
    let panels = text(&Figure::of(&answer), PLAIN);
    let places = ["\u{2502} 3\n", "\u{2502} Bob\n"].map(|name| panels.find(name));
    assert!(places[0].is_some() && places[0] < places[1], "{panels}");
    // There is no room for panels.
    let low = Room { lines: 10, ..PLAIN };
    let drawn = text(&Figure::of(&answer), low);
    for part in ["●● 3", "○○ Bob", "rate (kHz)", "time since the first tag (ms)"] {
        assert!(drawn.contains(part), "{part}:\n{drawn}");
    }
    assert_eq!(drawn.matches('●').count(), 2 + 2, "{drawn}");
    let coloured = text(&Figure::of(&answer), Room { is_coloured: true, ..low });
    assert!(
        coloured.contains("\u{1b}[38;5;32m") && coloured.contains("\u{1b}[38;5;166m"),
        "{coloured:?}"
    );
}

#[test]
fn bins_that_are_cut_do_not_stretch_the_axis_of_a_trace() {
    // One millisecond with 150 tags at the beginning, and one without tags at the end.
    let whole = [(32_000.0, 200.0, false), (31_500.0, 200.0, false), (32_300.0, 200.0, false)];
    let off = [&[(150_000.0, 12_000.0, true)], &whole[..], &[(0.0, 1_000.0, true)]].concat();
    for is_of_pairs in [false, true] {
        let answer = unfinished(&off, is_of_pairs);
        let drawn = chart(&answer);
        // 31.3 to 32.5 kHz, and a twentieth of that on each side.
        assert!((drawn.y.low - 31_240.0).abs() < 1.0, "{:?}", drawn.y);
        assert!((drawn.y.high - 32_560.0).abs() < 1.0, "{:?}", drawn.y);
        let values: Vec<bool> =
            drawn.series[0].points.iter().map(|point| point.value.is_some()).collect();
        assert_eq!(
            values,
            [false, true, true, true, false],
            "what is off the axis is no point on its edge"
        );
        // The time axis still includes them.
        assert!((drawn.x.high - 0.5).abs() < 1e-9, "{:?}", drawn.x);
        let figure = Figure::of(&answer);
        let note = "2 values of partial bins off the axis not drawn";
        assert!(figure.note.as_ref().is_some_and(|said| said.contains(note)), "{:?}", figure.note);
        for picture in [Picture::Svg, Picture::Html] {
            let bytes = picture.draw(&figure, &answer).unwrap();
            assert!(String::from_utf8(bytes).unwrap().contains(note), "{picture:?}");
        }
        let text = text(&figure, PLAIN);
        assert!(text.contains("32.5 \u{2524}"), "{text}");
        assert!(text.contains(note), "{text}");
    }
    // A partial bin within the axis is drawn, also if it is the only bin.
    let near = [&whole[..], &[(31_900.0, 1_000.0, true)]].concat();
    assert!(chart(&unfinished(&near, false)).series[0].points[3].value.is_some());
    assert!(Figure::of(&unfinished(&near, false)).note.is_none());
    let alone = chart(&unfinished(&[(150_000.0, 12_000.0, true)], false));
    assert!(alone.series[0].points[0].value.is_some() && alone.y.high > 150_000.0, "{alone:?}");
}

#[test]
fn a_value_beyond_its_axis_is_an_arrow_at_the_edge() {
    let values = [Some(1.0), Some(17.0), Some(2.0), Some(-3.0)];
    let answer = g2(&values, false);
    let look = Look { limits: Some((0.0.into(), 5.0.into())), ..Look::default() };
    let figure = Figure::of_look(&answer, &look).unwrap();
    let svg = String::from_utf8(Picture::Svg.draw(&figure, &answer).unwrap()).unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let named = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
    // The bins are 9, 90, 900 and 9,000 ticks wide: the first ones are drawn together.
    let whole = g2(&values[1..], true);
    let figure = Figure::of_look(&whole, &look).unwrap();
    let svg = String::from_utf8(Picture::Svg.draw(&figure, &whole).unwrap()).unwrap();
    assert_eq!((svg.matches("<circle").count(), named("svg")), (1, 1), "{svg}");
    let arrows = |svg: &str| svg.lines().filter(|line| line.contains("Z\"")).count();
    assert_eq!(arrows(&svg), 2, "{svg}");
    // A value out of range has no error line. The one point in range has one, with two ends.
    let errors = svg.lines().find(|line| line.contains("stroke-width=\"1.1\"")).unwrap();
    assert_eq!((errors.matches('M').count(), errors.matches('L').count()), (1, 1), "{errors}");
    let terminal = text(&figure, PLAIN);
    assert!(terminal.contains('\u{2191}') && terminal.contains('\u{2193}'), "{terminal}");
    // A line leaves the axis; it does not follow its end.
    let answer = trace(&[1.0, 17.0, 17.0, 2.0].map(|rate| [Some(rate), None]));
    let figure = Figure::of_look(&answer, &look).unwrap();
    let svg = String::from_utf8(Picture::Svg.draw(&figure, &answer).unwrap()).unwrap();
    let line = svg.lines().find(|line| line.contains("stroke-width=\"1.8\"")).unwrap();
    assert_eq!(line.matches('M').count(), 2, "{line}");
    let top = text(&figure, PLAIN);
    assert!(top.contains('\u{2191}'), "{top}");
    // A column is cut.
    let counts = histogram(0, 1, &[3, 900, 4]);
    let figure = Figure::of_look(&counts, &look).unwrap();
    let svg = String::from_utf8(Picture::Svg.draw(&figure, &counts).unwrap()).unwrap();
    assert_eq!(arrows(&svg), 2, "an arrow beside the filled area: {svg}");
    assert!(text(&figure, PLAIN).contains('\u{2191}'));
}

#[test]
fn an_expected_value_beyond_the_axis_is_not_drawn() {
    let answer = g2(&[Some(3.0), Some(4.0)], false);
    let look = Look { limits: Some((2.0.into(), 5.0.into())), ..Look::default() };
    let figure = Figure::of_look(&answer, &look).unwrap();
    let svg = String::from_utf8(Picture::Svg.draw(&figure, &answer).unwrap()).unwrap();
    assert!(!svg.contains("stroke-dasharray=\"7 4\""), "{svg}");
}

#[test]
fn a_logarithmic_axis_begins_near_the_values() {
    let look = Look { is_logarithmic: true, ..Look::default() };
    let ends = |counts: &[u64]| {
        let figure = Figure::of_look(&histogram(0, 1, counts), &look).unwrap();
        let Plot::Chart(chart) = figure.plot else { panic!("a chart") };
        chart.y.low
    };
    assert!((ends(&[600, 800, 0, 9_000]) - 300.0).abs() < 1e-9);
    // A count of one is drawn above the end.
    assert!((ends(&[1, 9]) - 0.5).abs() < 1e-9);
    let groups: Vec<Vec<u16>> = (1..5).flat_map(|a| (a + 1..5).map(move |b| vec![a, b])).collect();
    let groups: Vec<&[u16]> = groups.iter().map(|of| &of[..]).collect();
    let figure = Figure::of_look(&coincidences(&groups, &[800; 6]), &look).unwrap();
    let Plot::Matrix(matrix) = figure.plot else { panic!("a matrix") };
    assert!((matrix.axis().low - 400.0).abs() < 1e-9, "{:?}", matrix.axis());
}

/// Returns an image of these counts, with so many pixels a line.
fn image(pixels: u32, counts: &[u64]) -> Answer {
    let rows = Table::default().with(Column::counts("count", counts.to_vec().into()));
    let lines = u32::try_from(counts.len()).unwrap() / pixels;
    let (title, value) = ("Image".into(), "count");
    let figure = FigureKind::Image { title, pixels, lines, pixel_um: None, value, phasor_hz: None };
    answer(figure, rows)
}

/// Returns an image of 100 x 60 pixels with phasors at 40 MHz: of 1 ns on the left and 3 ns on the right, each with
/// a small error. Every hundredth pixel has none.
fn lifetimes() -> Answer {
    let pixels = 0..6_000_u32;
    let is_left = |at: u32| at % 100 < 50;
    let has = |at: u32| !at.is_multiple_of(100);
    let off = |at: u32| f64::from(at.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24) - 0.5;
    let of = |left: f64, right: f64, scatter: f64| -> Cells<Option<f64>> {
        let value = |at| if is_left(at) { left } else { right } + scatter * off(at);
        pixels.clone().map(|at| has(at).then(|| value(at))).collect()
    };
    let taus = of(1e-9, 3e-9, 0.5e-9);
    let counts: Vec<u64> = pixels.clone().map(|at| if is_left(at) { 1_000 } else { 250 }).collect();
    let Answer { rows, .. } = image(100, &counts);
    let none = || pixels.clone().map(|_| Some(0.1)).collect::<Cells<Option<f64>>>();
    let rows = rows
        .with(Column::floats("lifetime_s", taus).unit(tagq::Unit::Seconds).err("lifetime_s_err"))
        .with(Column::floats("lifetime_s_err", none()).hidden())
        .with(Column::floats("phasor_g", of(0.941, 0.638, 0.08)))
        .with(Column::floats("phasor_s", of(0.236, 0.481, 0.06)));
    let figure = FigureKind::Image {
        title: "Lifetimes".into(),
        pixels: 100,
        lines: 60,
        pixel_um: None,
        value: "lifetime_s",
        phasor_hz: Some(4e7),
    };
    answer(figure, rows)
}

/// Returns the figure of this name.
fn figure_of(answer: &Answer, name: FigureName) -> Figure {
    let look = Look { figure: Some(name), ..Look::default() };
    Figure::of_look(answer, &look).unwrap()
}

#[test]
fn colours_of_lifetimes_are_those_of_most_pixels() {
    let figure = Figure::of(&lifetimes());
    let Plot::Map(map) = &figure.plot else { panic!("a map") };
    // 2 % of 5,940 values are 118 on each side.
    let mut values: Vec<f64> = map.cells.iter().flatten().copied().collect();
    values.sort_by(f64::total_cmp);
    assert_eq!((map.values.low, map.values.high), (values[118], values[5_821]));
    let note = figure.note.clone().unwrap();
    assert_eq!(
        note,
        "60 of 6,000 pixels are grey: no lifetime; 236 of 6,000 cells are beyond the scale, which is that of 2 to 98 % of the \
         pixels"
    );
    let limits = Some((0.0.into(), Limit::Text("10ns".into())));
    let look = Look { limits, ..Look::default() };
    let chosen = Figure::of_look(&lifetimes(), &look).unwrap();
    assert_eq!(chosen.note.as_deref(), Some("60 of 6,000 pixels are grey: no lifetime"));
}

#[test]
fn pixels_are_as_bright_as_they_have_photons() {
    let of = lifetimes();
    let look = Look { brightness: true, ..Look::default() };
    let figure = Figure::of_look(&of, &look).unwrap();
    let Plot::Map(map) = &figure.plot else { panic!("a map") };
    let brightness = map.brightness.as_ref().unwrap();
    // 250 of 1,000 photons, and column by column.
    assert_eq!((brightness[0], brightness[59 * 60], brightness.len()), (1.0, 0.25, 6_000));
    assert!(
        figure.note.as_ref().is_some_and(|note| note.contains("brightest from 1,000 photons on"))
    );
    let svg = String::from_utf8(Picture::Svg.draw(&figure, &of).unwrap()).unwrap();
    // The blue and the orange end of the scale, and none of the colours of a map without brightness.
    assert!(svg.contains("#85acfe") && svg.contains("#f98b6f") && !svg.contains("#440154"));
    let json = serde_json::to_string(&figure).unwrap();
    let again: Figure = serde_json::from_str(&json).unwrap();
    assert_eq!(again, figure);
    for refused in [
        Look { figure: Some(FigureName::Histogram), ..look.clone() },
        Look { figure: Some(FigureName::Phasor), ..look.clone() },
    ] {
        assert!(Figure::of_look(&of, &refused).is_err());
    }
    assert!(Figure::of_look(&histogram(0, 1, &[1]), &look).is_err());
}

#[test]
fn a_histogram_of_pixels_has_all_with_a_value() {
    let of = lifetimes();
    let figure = figure_of(&of, FigureName::Histogram);
    let Plot::Chart(chart) = &figure.plot else { panic!("a chart") };
    let points = &chart.series[0].points;
    let count: f64 = points.iter().filter_map(|point| point.value).sum();
    assert!((count - 5_940.0).abs() < 0.5, "{count}");
    assert_eq!((&*chart.x.label, chart.x.quantity), ("lifetime", Quantity::Time));
    // Around 2 ns there is none, and half of the pixels are on each side.
    let between = |low: f64, high: f64| {
        let inside = points.iter().filter(|point| point.from >= low && point.to <= high);
        inside.filter_map(|point| point.value).sum::<f64>()
    };
    assert!(between(1.3e-9, 2.7e-9).abs() < 0.5);
    assert!((between(0.0, 1.3e-9) - 2_940.0).abs() < 0.5);
    let note = figure.note.unwrap();
    assert_eq!(note, "60 of 6,000 pixels are left out: they have no value");
    // Of counts, bins are whole numbers.
    let counts = figure_of(&image(2, &[3, 3, 4, 6]), FigureName::Histogram);
    let Plot::Chart(chart) = &counts.plot else { panic!("a chart") };
    let found: Vec<(f64, f64)> =
        chart.series[0].points.iter().map(|point| (point.from, point.value.unwrap())).collect();
    assert_eq!(found, [(3.0, 2.0), (4.0, 1.0), (5.0, 0.0), (6.0, 1.0)]);
}

#[test]
fn phasors_are_in_cells_below_the_semicircle() {
    let of = lifetimes();
    let figure = figure_of(&of, FigureName::Phasor);
    assert!(figure.title.starts_with("Phasors, "), "{}", figure.title);
    let Plot::Map(map) = &figure.plot else { panic!("a map") };
    let count: f64 = map.cells.iter().flatten().sum();
    assert!((count - 5_940.0).abs() < 0.5, "{count}");
    // 1.1 and 0.65 in cells of 0.0125: a quarter of all s is in 0.03, and 3.5·0.03/0.637/5,940^(1/4) is 0.019.
    assert_eq!((map.columns, map.cells.len()), (88, 88 * 52));
    assert_eq!(figure.note.as_deref(), Some("colours: pixels in a cell of 0.0125 x 0.0125"));
    let guide = map.guide.as_ref().unwrap();
    let labels: Vec<&str> = guide.marks.iter().map(|mark| &*mark.label).collect();
    assert_eq!(labels, ["0.5 ns", "1 ns", "2 ns", "4 ns", "8 ns", "16 ns", "32 ns"]);
    // The densest cell on the right is that of 1 ns.
    let at = |g: f64, s: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cell")]
        let cell = |value: f64| ((value + 0.05) / 0.0125).floor() as usize;
        map.cells[cell(g) * 52 + cell(s)]
    };
    assert!(at(0.941, 0.236).is_some() && at(0.638, 0.481).is_some() && at(0.3, 0.1).is_none());
    let svg = String::from_utf8(Picture::Svg.draw(&figure, &of).unwrap()).unwrap();
    roxmltree::Document::parse(&svg).unwrap();
    assert!(svg.contains(">16 ns<") && svg.contains(">g<") && svg.contains(">s<"));
    let terminal = text(&figure, PLAIN);
    assert!(terminal.contains("from the right: 0.5 ns, 1 ns, 2 ns") && terminal.contains("o "));
    let lines: Vec<&str> = terminal.lines().collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{terminal}");
    // Neither counts of an image nor of a run have phasors.
    for (answer, has) in
        [(image(2, &[1, 2]), "map and histogram"), (histogram(0, 1, &[1]), "one alone")]
    {
        let look = Look { figure: Some(FigureName::Phasor), ..Look::default() };
        let refused = Figure::of_look(&answer, &look).unwrap_err().to_string();
        assert!(refused.contains(has), "{refused}");
    }
}

#[test]
fn a_hot_pixel_does_not_hide_an_image() {
    let mut counts: Vec<u64> = (0..10_000).map(|at| at % 11).collect();
    let ends = |counts: &[u64]| {
        let figure = Figure::of(&image(if counts.len() > 4 { 100 } else { 2 }, counts));
        let Plot::Map(map) = figure.plot else { panic!("a map") };
        (map.values.low, map.values.high, figure.note)
    };
    assert_eq!(ends(&counts), (0.0, 10.0, None));
    counts[777] = 1_000_000;
    let (low, high, note) = ends(&counts);
    assert_eq!((low, high), (0.0, 10.0));
    assert!(note.is_some_and(|note| note.contains("1 of 10,000 cells is beyond the scale")));
    // With the end that was asked for, nothing is said of one that is not drawn.
    let look = Look { limits: Some((0.0.into(), 2e6.into())), ..Look::default() };
    assert_eq!(Figure::of_look(&image(100, &counts), &look).unwrap().note, None);
    let look = Look { limits: Some((0.0.into(), 9.0.into())), ..Look::default() };
    let note = Figure::of_look(&image(100, &counts), &look).unwrap().note;
    assert!(note.is_some_and(|note| note.contains("910 of 10,000 cells are beyond the scale")));
    // Few pixels have no percentiles.
    assert_eq!(ends(&[1, 2, 3, 400]), (0.0, 400.0, None));
}

#[test]
fn mean_micro_times_have_the_colours_of_most_pixels() {
    let means: Vec<Option<f64>> = (0..10_000)
        .map(|at| match at {
            0 => None,
            1..=20 => Some(0.0),
            21..=40 => Some(12e-9),
            at => Some(3e-9 + 1e-13 * f64::from(at)),
        })
        .collect();
    let counts = (0..10_000).map(|_| 1).collect::<Vec<u64>>();
    let Answer { rows, .. } = image(100, &counts);
    let rows = rows
        .with(
            Column::floats("micro_mean_s", means.into())
                .unit(tagq::Unit::Seconds)
                .err("micro_mean_s_err"),
        )
        .with(Column::floats("micro_mean_s_err", floats(counts.iter().map(|_| 1e-9))).hidden());
    let answer = Answer { rows, ..image(100, &counts) };
    let look = Look { quantity: Some("micro".into()), ..Look::default() };
    let figure = Figure::of_look(&answer, &look).unwrap();
    let Plot::Map(map) = &figure.plot else { panic!("a map") };
    assert!(map.values.low > 2.9e-9 && map.values.high < 4.1e-9, "{:?}", map.values);
    let terminal = text(&figure, PLAIN);
    assert!(
        !terminal.contains(": 0 to") && terminal.contains("(ns): 3.2 to about 3.8"),
        "{terminal}"
    );
}

#[test]
fn many_cells_are_one_picture_in_a_file() {
    let counts: Vec<u64> = (0..40_000).map(|at| at * 7_919 % 101).collect();
    let of = image(200, &counts);
    let svg = String::from_utf8(Picture::Svg.draw(&Figure::of(&of), &of).unwrap()).unwrap();
    let start = "data:image/png;base64,";
    assert_eq!((svg.matches("<image ").count(), svg.matches(start).count()), (1, 1));
    assert!(
        svg.len() < 200_000 && !svg.contains("crispEdges\"/>\n<path class=\"map"),
        "{}",
        svg.len()
    );
    roxmltree::Document::parse(&svg).unwrap();
    let few = image(20, &counts[..400]);
    let svg = String::from_utf8(Picture::Svg.draw(&Figure::of(&few), &few).unwrap()).unwrap();
    assert!(!svg.contains("<image "));
}

#[test]
fn a_gate_is_open_or_not_and_has_no_tags() {
    let rows = Table::default()
        .with(Column::integers("lane", vec![0, 0, 1].into()))
        .with(Column::floats("start_s", floats([0.0, 2.0, 1.0].into_iter())))
        .with(Column::floats("length_s", floats([1.0, 1.0, 3.0].into_iter())))
        .with(Column::counts("count", vec![3, 1, 0].into()))
        .with(Column::floats("open", floats([0.0, 0.0, 1.0].into_iter())));
    let names = vec!["7".to_owned(), "8 for 3s".to_owned()];
    let answer = answer(FigureKind::Lanes { names, times_s: [0.0, 10.0], gates: 1 }, rows);
    let of = chart(&answer);
    assert_eq!((of.series[0].shape, of.series[1].shape), (None, Some(Shape::Intervals)));
    let open: Vec<f64> = of.series[1].points.iter().filter_map(|point| point.value).collect();
    assert_eq!(open, [0.0, 1.0, 0.0]);
    let svg = String::from_utf8(Picture::Svg.draw(&Figure::of(&answer), &answer).unwrap()).unwrap();
    // The numbers of tags stand beside the first panel alone.
    assert_eq!(
        svg.matches("font-size=\"14\" fill=\"#1a1a1a\" text-anchor=\"end\">2<").count(),
        1,
        "{svg}"
    );
    let terminal = text(&Figure::of(&answer), PLAIN);
    assert!(terminal.lines().nth(1).unwrap().contains('\u{2588}'), "{terminal}");
}

#[test]
fn names_are_no_orders() {
    let bad = "x\u{1b}[2J\n</text><script>\u{202e}";
    let mut answer = unfinished(&[(3.0, 1.0, false), (3.0, 1.0, false)], false);
    answer.run.path = format!("runs/{bad}");
    answer.run.names = vec![(3, bad.into())];
    answer.header = format!("rates; {bad}");
    let figure = Figure::of(&answer);
    let title = "Rate of x\\u{1b}[2J\\n</text><script>\\u{202e} over time";
    assert!(figure.title.contains(title), "{}", figure.title);
    let drawn = text(&figure, PLAIN) + &figure.title + &figure.header;
    assert!(!drawn.contains(['\u{1b}', '\u{202e}']), "{drawn:?}");
    for picture in [Picture::Svg, Picture::Html] {
        let text = String::from_utf8(picture.draw(&figure, &answer).unwrap()).unwrap();
        let is_page = picture == Picture::Html;
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{picture:?}");
        // Its own two: the data and the program.
        assert_eq!(text.matches("<script").count(), if is_page { 2 } else { 0 }, "{picture:?}");
        assert_eq!(text.matches("</script").count(), if is_page { 2 } else { 0 }, "{picture:?}");
        assert!(text.contains("\\u{202e}"), "{picture:?}");
    }
}
