//! Files of simulated detections.

use std::{io::BufWriter, path::PathBuf};

use pyo3::prelude::*;
use tagq::{
    Destination, NewFile, Silent,
    store::{Duration, Tick, units::Frequency},
};
use tagq_simulate::{Detector, Light, Simulation, write};

use crate::{
    errors::{self, question},
    options::parse,
};

/// The options of a simulation, with texts as on the command line.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Simulated {
    duration: String,
    tick: String,
    start: String,
    seed: u64,
    rate: String,
    coherent: bool,
    pulsed: Option<String>,
    beam_splitter: bool,
    detectors: Vec<SimulatedDetector>,
}

/// The options of one detector.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SimulatedDetector {
    channel: u64,
    efficiency: f64,
    dark: String,
    jitter: String,
    delay: String,
    dead_time: String,
}

impl Simulated {
    fn simulation(&self, tick: Tick) -> PyResult<Simulation> {
        // Not rounded to ticks: jitter and pulse period belong to light and detector, not to the recorder.
        let exact = |name: &str, text: &str| -> PyResult<f64> {
            let duration: Duration = parse(name, text)?;
            duration.ticks(tick).map_err(|e| question(format!("{name}: {e}")))
        };
        let whole = |name: &str, text: &str| -> PyResult<i64> {
            let duration: Duration = parse(name, text)?;
            duration.nearest(tick).map_err(|e| question(format!("{name}: {e}")))
        };
        let frequency = |name: &str, text: &str| -> PyResult<f64> {
            let frequency: Frequency = parse(name, text)?;
            Ok(frequency.per_tick(tick))
        };
        let rate = frequency("rate", &self.rate)?;
        let pulse_period = self.pulsed.as_deref().map(|text| exact("pulsed", text)).transpose()?;
        let beam_splitter = self.beam_splitter;
        let light = if self.coherent {
            Light::Coherent { rate, pulse_period, beam_splitter }
        } else {
            Light::Pairs { rate, pulse_period, beam_splitter }
        };
        let detector = |of: &SimulatedDetector| -> PyResult<Detector> {
            Ok(Detector {
                channel: of.channel,
                efficiency: of.efficiency,
                dark_rate: frequency("dark", &of.dark)?,
                jitter: exact("jitter", &of.jitter)?,
                delay: exact("delays", &of.delay)?,
                dead_time: whole("dead_time", &of.dead_time)?,
            })
        };
        Ok(Simulation {
            light,
            detectors: self.detectors.iter().map(detector).collect::<PyResult<_>>()?,
            drift: None,
            start: whole("start", &self.start)?,
            duration: whole("duration", &self.duration)?,
            seed: self.seed,
        })
    }
}

/// Writes simulated detections to a recorder's file. Returns the number of tags.
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]
#[pyfunction]
pub(crate) fn simulate(
    py: Python<'_>,
    out: PathBuf,
    options: Simulated,
    replace: bool,
) -> PyResult<u64> {
    if !out.to_string_lossy().ends_with(".tags.zst") {
        let out = out.display();
        return Err(question(format!(
            "{out}: a simulation is written as .tags.zst; tagq.convert makes other formats of it"
        )));
    }
    let simulation = options.simulation(parse("tick", &options.tick)?)?;
    py.detach(|| {
        simulation.tags().map_err(|error| question(error.to_string()))?;
        let to = Destination { path: &out, force: replace, reads: &[] };
        let new = NewFile::create(&to, &Silent).map_err(|e| errors::of_run(&e))?;
        let file = new.file().map_err(|e| errors::of_run(&e))?;
        let written = write(&simulation, 1, false, BufWriter::new(&file));
        let tags = written.map_err(|error| question(error.to_string()))?;
        new.keep(&file).map_err(|e| errors::of_run(&e))?;
        Ok(tags)
    })
}
