//! Values of whole columns of a store, by name.

use std::path::Path;

use serde_json::{Value, json};
use tagq::{
    OpenOptions, Silent,
    store::{SyncPulses, Tick},
};

use super::{lifetimes, ours::digest};

/// First label of a marker.
const MARKER: u16 = 101;
const PICOSECONDS: f64 = 1e12;

type Check = fn(&Columns) -> Value;

/// All checks by the names in data/validation.json.
const CHECKS: [(&str, Check); 21] = [
    ("photons", |of| json!(of.photons().count())),
    ("marker records", |of| json!(of.markers().count())),
    ("photons by micro time", photons_by_micro_time),
    ("times", |of| json!(digest(of.photons().map(|row| of.time[row].to_le_bytes())))),
    ("channels", channels),
    ("pulses", |of| json!(digest(of.pulses(of.photons()).map(|(pulse, _)| pulse.to_le_bytes())))),
    ("marker pulses", |of| {
        json!(digest(of.pulses(of.markers()).map(|(pulse, _)| pulse.to_le_bytes())))
    }),
    ("micro times", |of| {
        let micro = |row: usize| u16::try_from(of.micro[row].unwrap()).unwrap();
        json!(digest(of.pulses(of.photons()).map(|(_, row)| micro(row).to_le_bytes())))
    }),
    ("macro times", |of| of.photons().map(|row| json!(of.time[row])).collect()),
    ("micro values", |of| of.photons().map(|row| json!(of.micro[row])).collect()),
    ("last time", |of| json!(of.time.last())),
    ("last time, wrapped by 33,552,000", |of| {
        let last = of.time.last().unwrap();
        json!(last - last / 33_554_432 * (33_554_432 - 33_552_000))
    }),
    ("sync period", |of| json!(picoseconds(of.period()))),
    ("sync period, truncated", |of| json!(picoseconds(of.period()).trunc())),
    ("micro tick", |of| json!(picoseconds(of.micro_tick.unwrap()))),
    ("micro tick, truncated", |of| json!(picoseconds(of.micro_tick.unwrap()).trunc())),
    ("macro tick over 4,096", |of| json!(picoseconds(of.tick) / 4_096.0)),
    ("legacy T2", legacy_t2),
    ("legacy T3", legacy_t3),
    ("ring 1 2", |of| of.ring(1, 2).into()),
    ("ring 2 1", |of| of.ring(2, 1).into()),
];

/// Returns the value of a check for a recording.
pub(super) fn answer(name: &str, recording: &Path) -> Value {
    if let Some(number) = lifetimes::answer(name, recording) {
        return json!(number);
    }
    let found = CHECKS.iter().find(|(known, _)| *known == name);
    let (_, check) = found.unwrap_or_else(|| panic!("there is no check {name}"));
    check(&Columns::of(recording))
}

/// Counts as a program that takes photons of micro time 0 as markers, and markers as photons.
fn photons_by_micro_time(of: &Columns) -> Value {
    let with_time = of.photons().filter(|&row| of.micro[row] != Some(0)).count();
    json!(with_time + of.markers().count())
}

fn channels(of: &Columns) -> Value {
    // Channels of the other programs begin at 0.
    let first = u16::from(of.label.iter().all(|&label| label > 0));
    let channel = |row: usize| u8::try_from(of.label[row] - first).unwrap().to_le_bytes();
    json!(digest(of.photons().map(channel)))
}

fn legacy_t2(of: &Columns) -> Value {
    let ticks = one_picosecond().in_ticks(of.tick).unwrap().to_integer();
    // The input of the sync has the label 0 here, and stands after the four inputs there.
    let channel = |row: usize| of.label[row].checked_sub(1).unwrap_or(4);
    let time = |row: usize| of.time[row] / i64::try_from(ticks).unwrap();
    of.photons().flat_map(|row| [channel(row).into(), time(row)]).map(Value::from).collect()
}

fn legacy_t3(of: &Columns) -> Value {
    let resolution = of.micro_tick.unwrap().in_ticks(one_picosecond()).unwrap().to_integer();
    let columns = |(pulse, row): (i64, usize)| {
        let micro = i64::from(of.micro[row].unwrap()) * i64::try_from(resolution).unwrap();
        [i64::from(of.label[row]) - 1, pulse, micro]
    };
    of.pulses(of.photons()).flat_map(columns).map(Value::from).collect()
}

fn one_picosecond() -> Tick {
    "1ps".parse().unwrap()
}

fn picoseconds(time: Tick) -> f64 {
    time.seconds() * PICOSECONDS
}

/// Tags of a store, as columns.
struct Columns {
    time: Vec<i64>,
    label: Vec<u16>,
    micro: Vec<Option<u32>>,
    tick: Tick,
    micro_tick: Option<Tick>,
    pulses: Option<SyncPulses>,
}

impl Columns {
    fn of(recording: &Path) -> Self {
        let run = tagq::open(recording, &OpenOptions::default(), &Silent).unwrap();
        let (store, manifest) = (run.store(), run.store().manifest());
        let (tags, micro) = (store.tags(), store.micro());
        Self {
            time: tags.time.to_vec(),
            label: (0..tags.len()).map(|row| tags.channels.label(row)).collect(),
            micro: (0..tags.len()).map(|row| micro.as_ref()?.get(row)).collect(),
            tick: manifest.tick,
            micro_tick: manifest.micro_tick,
            pulses: manifest.sources[0]
                .facts
                .recording
                .as_ref()
                .and_then(|recording| recording.pulses),
        }
    }

    /// Returns the period of the sync.
    fn period(&self) -> Tick {
        self.pulses.unwrap().period
    }

    /// Returns the rows of photons.
    fn photons(&self) -> impl Iterator<Item = usize> {
        (0..self.time.len()).filter(|&row| self.label[row] < MARKER)
    }

    fn markers(&self) -> impl Iterator<Item = usize> {
        (0..self.time.len()).filter(|&row| self.label[row] >= MARKER)
    }

    /// Returns the number of the pulse of each row, in order of the pulses.
    fn pulses(&self, rows: impl Iterator<Item = usize>) -> impl Iterator<Item = (i64, usize)> {
        let period = self.period().in_ticks(self.tick).unwrap();
        // The time is that of the pulse, rounded down to a tick, plus the micro time.
        let pulse = |row: usize| {
            let after = i128::from(self.micro[row].unwrap_or(0));
            let pulse = -((after - i128::from(self.time[row])) * period.denom())
                .div_euclid(*period.numer());
            (i64::try_from(pulse).unwrap(), row)
        };
        let mut pulses: Vec<_> = rows.map(pulse).collect();
        pulses.sort_by_key(|&(pulse, _)| pulse);
        pulses.into_iter()
    }

    /// Returns the histogram of `stop` − `start` in 10,000 bins of 16 ps from 0, without the starts that ETA loses:
    /// those of the first entry of its ring of 100.
    fn ring(&self, start: u16, stop: u16) -> Vec<u64> {
        let times = |of: u16| -> Vec<i64> {
            let rows = (0..self.time.len()).filter(|&row| self.label[row] == of);
            rows.map(|row| self.time[row]).collect()
        };
        let (starts, stops) = (times(start), times(stop));
        let mut counts = vec![0; 10_000];
        for start in starts.iter().enumerate().filter(|(n, _)| n % 100 > 0).map(|(_, start)| start)
        {
            let first = stops.partition_point(|stop| stop < start);
            for stop in stops[first..].iter().take_while(|stop| *stop - start < 160_000) {
                counts[usize::try_from((stop - start) / 16).unwrap()] += 1;
            }
        }
        counts
    }
}
