//! Answers of tagq: those of its commands, and whole columns of a store.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tagq::{OpenOptions, Run, Silent};

use super::list::Way;
use crate::support::tagq;

/// First label of a marker.
const MARKER: u16 = 101;
const PICOSECONDS: f64 = 1e12;

/// A copy of a recording, whose store is beside it.
pub(super) struct Copied {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

/// Tags of a store, as columns.
struct Columns {
    time: Vec<i64>,
    label: Vec<u16>,
    micro: Vec<Option<u32>>,
}

impl Copied {
    /// Copies a recording, with the settings beside it.
    pub(super) fn of(recording: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(recording.file_name().unwrap());
        fs::copy(recording, &path).unwrap();
        let settings = recording.with_extension("set");
        if settings.exists() {
            fs::copy(&settings, path.with_extension("set")).unwrap();
        }
        Self { _folder: folder, path }
    }

    pub(super) fn answer(&self, way: &Way) -> Value {
        match (&way.command, &way.check) {
            (Some(command), None) => self.of_command(command, way.at.as_ref().unwrap()),
            (None, Some(check)) => self.of_check(check),
            _ => panic!("neither a command nor a check"),
        }
    }

    /// Returns the value at a pointer in the JSON of a command; `*` takes all elements of an array.
    fn of_command(&self, command: &str, at: &str) -> Value {
        let args = command.split_whitespace().map(Into::into);
        let options = ["--format".into(), "json".into(), self.path.as_os_str().to_owned()];
        let answer = tagq(args.chain(options)).json();
        let found = match at.split_once("/*") {
            None => answer.pointer(at).cloned(),
            Some((list, rest)) => {
                let list = answer.pointer(list).and_then(Value::as_array);
                list.map(|list| list.iter().map(|row| row.pointer(rest).unwrap().clone()).collect())
            }
        };
        found.unwrap_or_else(|| panic!("{command}: nothing at {at}"))
    }

    fn of_check(&self, check: &str) -> Value {
        if check == "text" {
            let text = tagq(["cat".as_ref(), self.path.as_os_str()]);
            assert_eq!(text.code, 0, "{}", text.stderr);
            return json!(sha256(&text.stdout));
        }
        let run = tagq::open(&self.path, &OpenOptions::default(), &Silent).unwrap();
        let columns = Columns::of(&run);
        let manifest = run.store().manifest();
        let tick_ps = manifest.tick.seconds() * PICOSECONDS;
        let micro_ps = || manifest.micro_tick.unwrap().seconds() * PICOSECONDS;
        let period_ps = || sync_pulses(&run).period.seconds() * PICOSECONDS;
        let photons = || columns.photons();
        match check {
            "photons" => json!(photons().count()),
            "marker records" => json!(columns.markers().count()),
            "photons by micro time" => {
                let with_time = photons().filter(|&row| columns.micro[row] != Some(0)).count();
                json!(with_time + columns.markers().count())
            }
            "times" => json!(digest(photons().map(|row| columns.time[row].to_le_bytes()))),
            "channels" => {
                let first = u16::from(columns.label.iter().all(|&label| label > 0));
                let channel = |row| u8::try_from(columns.label[row] - first).unwrap().to_le_bytes();
                json!(digest(photons().map(channel)))
            }
            "pulses" => {
                json!(digest(columns.pulses(&run, photons()).map(|(n, _)| n.to_le_bytes())))
            }
            "marker pulses" => {
                let pulses = columns.pulses(&run, columns.markers());
                json!(digest(pulses.map(|(pulse, _)| pulse.to_le_bytes())))
            }
            "micro times" => {
                let micro = |(_, row): (i64, usize)| u16::try_from(columns.micro[row].unwrap());
                let of_photons = columns.pulses(&run, photons());
                json!(digest(of_photons.map(|photon| micro(photon).unwrap().to_le_bytes())))
            }
            "macro times" => photons().map(|row| json!(columns.time[row])).collect(),
            "micro values" => photons().map(|row| json!(columns.micro[row])).collect(),
            "last time" => json!(columns.time.last()),
            "last time, wrapped by 33,552,000" => {
                let last = columns.time.last().unwrap();
                json!(last - last / 33_554_432 * (33_554_432 - 33_552_000))
            }
            "sync period" => json!(period_ps()),
            "sync period, truncated" => json!(period_ps().trunc()),
            "micro tick" => json!(micro_ps()),
            "micro tick, truncated" => json!(micro_ps().trunc()),
            "macro tick over 4,096" => json!(tick_ps / 4_096.0),
            "legacy T2" => {
                let per_ps = (1.0 / tick_ps).round() as i64;
                // The input of the sync has the label 0 here, and stands after the four inputs there.
                let channel = |row: usize| columns.label[row].checked_sub(1).unwrap_or(4);
                let rows = photons().map(|row| [channel(row).into(), columns.time[row] / per_ps]);
                rows.flatten().map(Value::from).collect()
            }
            "legacy T3" => {
                let resolution = micro_ps().round() as i64;
                let row = |(pulse, row): (i64, usize)| {
                    let micro = i64::from(columns.micro[row].unwrap());
                    [i64::from(columns.label[row]) - 1, pulse, micro * resolution]
                };
                columns.pulses(&run, photons()).flat_map(row).map(Value::from).collect()
            }
            "ring 1 2" => columns.ring(1, 2).into(),
            "ring 2 1" => columns.ring(2, 1).into(),
            _ => panic!("no check {check}"),
        }
    }
}

fn sync_pulses(run: &Run) -> tagq::store::SyncPulses {
    let source = &run.store().manifest().sources[0];
    source.facts.recording.as_ref().unwrap().pulses.unwrap()
}

impl Columns {
    fn of(run: &Run) -> Self {
        let tags = run.store().tags();
        let micro = run.store().micro();
        Self {
            time: tags.time.to_vec(),
            label: (0..tags.len()).map(|row| tags.channels.label(row)).collect(),
            micro: (0..tags.len()).map(|row| micro.as_ref()?.get(row)).collect(),
        }
    }

    /// Returns the rows of photons.
    fn photons(&self) -> impl Iterator<Item = usize> {
        (0..self.time.len()).filter(|&row| self.label[row] < MARKER)
    }

    fn markers(&self) -> impl Iterator<Item = usize> {
        (0..self.time.len()).filter(|&row| self.label[row] >= MARKER)
    }

    /// Returns the number of the pulse of each row, in order of the pulses.
    fn pulses(
        &self,
        run: &Run,
        rows: impl Iterator<Item = usize>,
    ) -> impl Iterator<Item = (i64, usize)> {
        let period = sync_pulses(run).period.in_ticks(run.store().manifest().tick).unwrap();
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

pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns the SHA-256 of an array of little-endian values.
pub(super) fn digest<const N: usize>(values: impl Iterator<Item = [u8; N]>) -> String {
    let mut hash = Sha256::new();
    values.for_each(|value| hash.update(value));
    hex(&hash.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
