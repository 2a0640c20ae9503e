//! The scan of an image, stored as facts of a recording: pairs of text.
//!
//! `("scan", "two-way, sine of 80 %")` is a scan of both directions, a line of which covers 80 % of the amplitude of a
//! sine; `sine of 80 % of the period` covers 80 % of the half period in which a line lies. The texts are in manifests on disk, so they must not change.

use super::source::Recording;

const LINE: &str = "line start";
const LINE_END: &str = "line stop";
const FRAME: &str = "frame";
const PIXELS: &str = "pixels of a line";
const LINES: &str = "lines of a frame";
const SCAN: &str = "scan";
const PIXEL_SIZE: &str = "pixel size";
const TWO_WAY: &str = "two-way";
const ONE_WAY: &str = "one-way";
const MICROMETRES: &str = " µm";
const OF_PERIOD: &str = " of the period";

/// The scan of an image, as far as the header of a file states it. The facts of a recording hold it as text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScanFacts {
    /// The name of the channel whose tags begin a line.
    pub line: Option<String>,
    /// The name of the channel whose tags end a line.
    pub line_end: Option<String>,
    /// The name of the channel whose tags begin a frame.
    pub frame: Option<String>,
    /// Pixels of a line.
    pub pixels: Option<u32>,
    /// Lines of a frame.
    pub lines: Option<u32>,
    /// Whether every other line runs backwards.
    pub is_two_way: Option<bool>,
    /// The part of a sine that a line covers, in percent.
    pub sine_percent: Option<f64>,
    /// Whether it is a part of the period, not of the amplitude.
    pub is_sine_of_period: bool,
    /// The side of a pixel in micrometres.
    pub pixel_um: Option<f64>,
}

impl ScanFacts {
    /// Returns it as facts for readers.
    pub fn to_facts(&self) -> Vec<(String, String)> {
        let number = |number: Option<u32>| number.map(|number| number.to_string());
        let whole = if self.is_sine_of_period { OF_PERIOD } else { "" };
        let sine = self.sine_percent.map(|percent| format!("sine of {percent} %{whole}"));
        let way = self.is_two_way.map(|is| if is { TWO_WAY } else { ONE_WAY }.to_owned());
        let scan: Vec<String> = way.into_iter().chain(sine).collect();
        let facts = [
            (LINE, self.line.clone()),
            (LINE_END, self.line_end.clone()),
            (FRAME, self.frame.clone()),
            (PIXELS, number(self.pixels)),
            (LINES, number(self.lines)),
            (SCAN, Some(scan.join(", ")).filter(|scan| !scan.is_empty())),
            (PIXEL_SIZE, self.pixel_um.map(|size| format!("{size}{MICROMETRES}"))),
        ];
        let fact = |(what, value): (&str, Option<String>)| Some((what.to_owned(), value?));
        facts.into_iter().filter_map(fact).collect()
    }

    /// Reads the facts of a recording. Texts that [`ScanFacts::to_facts`] does not write say nothing.
    pub fn of(recording: &Recording) -> Self {
        let fact = |what: &str| {
            recording.facts.iter().find(|(of, _)| of == what).map(|(_, value)| value.as_str())
        };
        let scan: Vec<&str> = fact(SCAN).map_or(Vec::new(), |scan| scan.split(", ").collect());
        let is_of_period = |part: &&&str| part.ends_with(OF_PERIOD);
        let sine = |part: &&str| {
            let part = part.strip_suffix(OF_PERIOD).unwrap_or(part);
            part.strip_prefix("sine of ")?.strip_suffix(" %")?.parse().ok()
        };
        let way = |part: &&str| match *part {
            TWO_WAY => Some(true),
            ONE_WAY => Some(false),
            _ => None,
        };
        let positive = |number: &f64| number.is_finite() && *number > 0.0;
        Self {
            line: fact(LINE).map(str::to_owned),
            line_end: fact(LINE_END).map(str::to_owned),
            frame: fact(FRAME).map(str::to_owned),
            pixels: fact(PIXELS).and_then(|number| number.parse().ok()),
            lines: fact(LINES).and_then(|number| number.parse().ok()),
            is_two_way: scan.iter().find_map(way),
            sine_percent: scan.iter().find_map(sine).filter(positive),
            is_sine_of_period: scan.iter().find(is_of_period).and_then(sine).is_some(),
            pixel_um: fact(PIXEL_SIZE)
                .and_then(|size| size.strip_suffix(MICROMETRES)?.parse().ok())
                .filter(positive),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_as_they_were_written() {
        let all = ScanFacts {
            line: Some("marker1".into()),
            line_end: Some("marker2".into()),
            frame: Some("marker3".into()),
            pixels: Some(256),
            lines: Some(128),
            is_two_way: Some(true),
            sine_percent: Some(82.5),
            is_sine_of_period: false,
            pixel_um: Some(0.253_983_647_1),
        };
        let others = [
            ScanFacts { is_two_way: None, line_end: None, ..all.clone() },
            ScanFacts { is_sine_of_period: true, ..all.clone() },
        ];
        for scan in others.into_iter().chain([all]) {
            let recording = Recording { facts: scan.to_facts(), ..Recording::default() };
            assert_eq!(ScanFacts::of(&recording), scan);
        }
        assert_eq!(ScanFacts::default().to_facts(), []);
        let other = [("scan", "spiral"), ("pixel size", "-1 µm"), ("pixels of a line", "many")];
        let facts = other.map(|(what, value)| (what.to_owned(), value.to_owned())).to_vec();
        assert_eq!(
            ScanFacts::of(&Recording { facts, ..Recording::default() }),
            ScanFacts::default()
        );
    }
}
