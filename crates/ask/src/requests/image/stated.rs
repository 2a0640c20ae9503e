//! The markers and the raster of a scan: those of the request, else those that the headers of the files state.
//!
//! A header states 256 x 256 pixels and lines from marker 1 to marker 2; the option `pixels` of 128 replaces its 256 pixels of a line.

use tagq_query::{Markers, Raster, Sine};
use tagq_run::{Channel, RequestError, Run};
use tagq_store::{ScanFacts, pasted};

use super::{
    super::{context::QueryContext, detectors},
    request::{Image, ScanPath, SineOf},
};
use crate::error::Error;

/// The scan as the headers of the files state it, all alike, and the channels of its markers.
pub(super) struct Stated {
    pub scan: ScanFacts,
    line: Option<u16>,
    line_end: Option<u16>,
    frame: Option<u16>,
}

impl Stated {
    pub fn of(run: &Run) -> Result<Self, Error> {
        let sources = &run.store().manifest().sources;
        let recordings = || sources.iter().filter_map(|source| source.facts.recording.as_ref());
        let mut scans = recordings().map(ScanFacts::of).filter(|of| *of != ScanFacts::default());
        let scan = scans.next().unwrap_or_default();
        if scans.any(|other| other != scan) {
            return Err(RequestError::Runs(format!(
                "the files of {} state different scans; ask each of them alone",
                run.path().display()
            ))
            .into());
        }
        let channel = |name: &Option<String>| {
            let name = name.as_ref()?;
            let mut names = recordings().flat_map(|of| &of.channel_names);
            names.find(|(_, of)| of == name).map(|&(channel, _)| channel)
        };
        let [line, line_end, frame] = [&scan.line, &scan.line_end, &scan.frame].map(channel);
        Ok(Self { scan, line, line_end, frame })
    }
}

/// Why the header states nothing.
const OF_HEADER: &str = "the store has none from a file's header; ingest it with `rebuild` if it was made before headers of images \
                         were read";

/// Returns why a run without markers is no image, and the query that counts it.
fn of_point(run: &Run) -> String {
    let path = run.path();
    let other = match run.store().manifest().micro_tick {
        Some(_) => format!("`tagq micro {}` counts its micro times", pasted(path)),
        None => format!("`tagq rates {}` counts it", pasted(path)),
    };
    format!("{} has no markers, as of a point that is not scanned; {other}", path.display())
}

impl Image {
    /// Returns the markers. If the marker of lines is given, those of the header are of another scan.
    pub(super) fn markers(
        &self,
        run: &Run,
        stated: &Stated,
        context: &QueryContext<'_>,
    ) -> Result<Markers, Error> {
        let given = |channel: &Option<Channel>| {
            channel.as_ref().map(|channel| context.setup.channel(channel)).transpose()
        };
        let missing = || {
            let why = if detectors::has_markers(run) { OF_HEADER.into() } else { of_point(run) };
            RequestError::missing("line", &format!(": the marker at which lines begin; {why}"))
        };
        let line = given(&self.line)?;
        let or = |stated: Option<u16>| stated.filter(|_| line.is_none());
        let markers = Markers {
            line: line.or(stated.line).ok_or_else(missing)?,
            line_end: given(&self.line_end)?.or(or(stated.line_end)),
            frame: given(&self.frame)?.or(or(stated.frame)),
            is_repaired: self.repair,
        };
        let Markers { line, line_end, frame, .. } = markers;
        if line_end == Some(line) || frame == Some(line) || (frame.is_some() && frame == line_end) {
            return Err(RequestError::options(
                &["line", "line_end", "frame"],
                "`line`, `line_end` and `frame` are different channels".into(),
            )
            .into());
        }
        Ok(markers)
    }

    pub(super) fn raster(&self, stated: &Stated) -> Result<Raster, Error> {
        let missing =
            |option: &str| RequestError::missing(option, &format!(": their number; {OF_HEADER}"));
        let scan = self.scan;
        let is_sinusoidal =
            scan.map_or(stated.scan.sine_percent.is_some(), ScanPath::is_sinusoidal);
        let given = [("sine", self.sine.is_some()), ("sine_of", self.sine_of.is_some())];
        if let Some((given, _)) = given.iter().find(|(_, is)| *is && !is_sinusoidal) {
            return Err(RequestError::options(
                &[given, "scan"],
                format!("`{given}` is of a `scan` that is sinusoidal"),
            )
            .into());
        }
        let percent = self.sine.map(f64::from).or(stated.scan.sine_percent).unwrap_or(100.0);
        if is_sinusoidal && !(0.1..=100.0).contains(&percent) {
            return Err(RequestError::options(
                &["sine"],
                format!("a line covers 1 to 100 percent of a sine, not {percent}"),
            )
            .into());
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 1,000")]
        let thousandths = (percent * 10.0).round() as u16;
        let is_of_period =
            self.sine_of.unwrap_or(SineOf::of(stated.scan.is_sine_of_period)) == SineOf::Period;
        Ok(Raster {
            pixels: self.pixels.or(stated.scan.pixels).ok_or_else(|| missing("pixels"))?,
            lines: self.lines.or(stated.scan.lines).ok_or_else(|| missing("lines"))?,
            first_line: self.first_line.unwrap_or(0),
            first_frame: self.first_frame.unwrap_or(0),
            is_two_way: scan.map_or(stated.scan.is_two_way.unwrap_or(false), ScanPath::is_two_way),
            sine: is_sinusoidal.then_some(Sine { thousandths, is_of_period }),
        })
    }
}
