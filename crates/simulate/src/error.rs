//! The reasons why a simulation cannot be run.

/// The reason why a simulation cannot be run. Detectors are counted from 0.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number of the light, the drift or the recording is outside its range.
    #[error("{field} is {found}; it must be {expected}")]
    Field {
        /// The field, as written in [`Simulation`](crate::Simulation).
        field: &'static str,
        /// Its value.
        found: f64,
        /// The values that work.
        expected: &'static str,
    },
    /// A number of one detector is outside its range.
    #[error("detectors[{detector}].{field} (channel {channel}) is {found}; it must be {expected}")]
    DetectorField {
        /// Which detector.
        detector: usize,
        /// Its channel.
        channel: u64,
        /// The field, as written in [`Detector`](crate::Detector).
        field: &'static str,
        /// Its value.
        found: f64,
        /// The values that work.
        expected: &'static str,
    },
    /// The light cannot serve this number of detectors.
    #[error("{found} detectors given, but {light} needs {expected}")]
    Detectors {
        /// The light, in words.
        light: &'static str,
        /// The number of detectors.
        found: usize,
        /// The numbers that work.
        expected: &'static str,
    },
    /// Two detectors have the same channel.
    #[error(
        "detectors[{first}] and detectors[{second}] both have channel {channel}; give each its own"
    )]
    DuplicateChannel {
        /// The channel.
        channel: u64,
        /// The first detector that has it.
        first: usize,
        /// The second detector that has it.
        second: usize,
    },
    /// A signal has the channel of a detector or of another signal.
    #[error("channel {channel} is that of {signal}, and of something else; give each its own")]
    SignalChannel {
        /// The channel.
        channel: u64,
        /// What the signal is.
        signal: &'static str,
    },
    /// The recording, or the light that reaches it, does not fit into 64-bit times.
    #[error(
        "start {start} + duration {duration} ticks (with the delays and jitters) passes the 64-bit range of times; \
         use a smaller start, duration or delay"
    )]
    Span {
        /// The first tick of the recording.
        start: i64,
        /// Its length in ticks.
        duration: i64,
    },
    /// A detector would detect more often than time tags can tell.
    #[error(
        "detectors[{detector}] (channel {channel}) would see {found} detections per tick, more than {max}; \
         lower the rate, the efficiency or the dark rate (rates are per tick, not per second)"
    )]
    Rate {
        /// Which detector.
        detector: usize,
        /// Its channel.
        channel: u64,
        /// Photons detected and dark counts per tick, before dead time.
        found: f64,
        /// The largest rate that works.
        max: f64,
    },
    /// A single pulse would hold too many detections to keep in memory.
    #[error(
        "one pulse would give {found} detections, more than {max}; lower the rate, the efficiency or pulse_period"
    )]
    Pulse {
        /// Mean detections in a pulse, all detectors together.
        found: f64,
        /// The largest mean that works.
        max: f64,
    },
    /// The jitter would mix too many detections to keep in memory.
    #[error(
        "the jitter would keep {found} detections in flight at once, more than {max}; lower jitter or rates"
    )]
    Jitter {
        /// Mean detections within 12 standard deviations of jitter, all detectors together.
        found: f64,
        /// The largest mean that works.
        max: f64,
    },
}
