//! The file `view` of a view: the run that it was made from, and the state from which its evaluation continues
//! (docs/format.md, section "Views").

use tagq_store::{
    Folder, RunId, RunRows, Source, Store,
    sealed::{self, Reader, Unsealed, put_len, put_text},
};

use super::{feed::Start, sources::EvaluationState};

/// The first eight bytes of the file.
const MAGIC: [u8; 8] = *b"TAGQMADE";
/// The version written. Views with files of other versions are made again: those of version 1 may be made of damaged
/// rows.
const VERSION: u32 = 3;
/// The largest file that is read.
const BYTES_MAX: u64 = 1 << 30;
/// The end of the name of a file that is being written; random digits come before it.
const UNFINISHED: &str = ".new";

/// The rows of the run that a view was made from, and the state from which its evaluation continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ViewState {
    /// The text that identifies the derivation.
    pub key: String,
    pub made_from: MadeFrom,
    /// The run id of the view, and its commit that this belongs to.
    pub view: (RunId, u64),
    /// The evaluation before the end of the last source; `None` without sources.
    pub evaluation: Option<EvaluationState>,
}

/// The rows of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MadeFrom {
    of: RunRows,
    /// The number of its sources before the last one.
    sources: u64,
    /// Checksum of the facts of these sources that a view takes over.
    facts_before: u32,
    /// Checksum of those of the last source.
    facts_last: u32,
}

impl MadeFrom {
    pub(super) fn of(store: &Store) -> Self {
        let manifest = store.manifest();
        let (last, before) = match manifest.sources.split_last() {
            Some((last, before)) => (std::slice::from_ref(last), before),
            None => (&[][..], &[][..]),
        };
        Self {
            of: RunRows::all(store),
            sources: before.len() as u64,
            facts_before: checksum(before),
            facts_last: checksum(last),
        }
    }

    /// Returns the run.
    pub(super) fn run(&self) -> RunId {
        self.of.run
    }

    /// Whether these are more rows of the same run.
    pub(super) fn is_after(&self, other: &Self) -> bool {
        self.of.run == other.of.run && self.of.rows.rows > other.of.rows.rows
    }

    /// Whether the first rows of a store are these rows.
    pub(super) fn begins(&self, store: &Store) -> bool {
        let manifest = store.manifest();
        let before = usize::try_from(self.sources).ok();
        let facts = before.and_then(|before| manifest.sources.get(..before)).map(checksum);
        let RunRows { run, rows } = self.of;
        manifest.run_id == run
            && facts == Some(self.facts_before)
            && store.first_rows(rows.rows).is_ok_and(|first| first.rows_id() == rows)
    }
}

/// Returns a checksum of the facts that a view takes over.
fn checksum(sources: &[Source]) -> u32 {
    let facts = sources.iter().map(|Source { facts, time_first, time_last, .. }| {
        let of = (&facts.name, &facts.recording, &facts.recorded, facts.rebased);
        (of, time_first, time_last)
    });
    let bytes = serde_json::to_vec(&facts.collect::<Vec<_>>()).unwrap_or_default();
    tagq_store::checksum::crc32c(&bytes)
}

impl ViewState {
    /// The name of the file in the folder of a view.
    pub(super) const NAME: &str = "view";

    /// Reads the file of a view. Returns `None` if the file is missing or damaged.
    pub(super) fn read(folder: &Folder) -> Option<Self> {
        Self::from_bytes(&folder.read(Self::NAME, BYTES_MAX).ok()?)
    }

    /// Checks the file of a view. Returns whether it is there and of this version.
    pub(super) fn check(folder: &Folder) -> Result<bool, ()> {
        let Ok(bytes) = folder.read(Self::NAME, BYTES_MAX) else { return Ok(false) };
        let is_old = matches!(sealed::open(&bytes, MAGIC, VERSION), Err(Unsealed::Version(_)));
        if is_old { Ok(false) } else { Self::from_bytes(&bytes).map(|_| true).ok_or(()) }
    }

    /// Replaces the file of a view. It is not made durable: without it the view is made again.
    pub(super) fn write(&self, folder: &Folder) -> Result<(), tagq_store::Error> {
        folder.replace(Self::NAME, UNFINISHED, &self.to_bytes())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let MadeFrom { of, sources, facts_before, facts_last } = &self.made_from;
        let mut out = sealed::begin(MAGIC, VERSION);
        put_text(&mut out, &self.key);
        of.put(&mut out);
        out.extend(sources.to_le_bytes());
        for crc in [*facts_before, *facts_last] {
            out.extend(crc.to_le_bytes());
        }
        out.extend(self.view.0.0);
        out.extend(self.view.1.to_le_bytes());
        let Some(EvaluationState { source, start, rows, network, gate, bounds }) = &self.evaluation
        else {
            put_len(&mut out, 0);
            return sealed::seal(out);
        };
        put_len(&mut out, 1);
        put_len(&mut out, *source);
        out.extend(start.delayed.to_le_bytes());
        out.extend(start.recorded.to_le_bytes());
        out.extend(rows.to_le_bytes());
        for bytes in [network, gate] {
            put_len(&mut out, bytes.len());
            out.extend(bytes);
        }
        put_len(&mut out, bounds.len());
        for bound in bounds {
            out.extend(bound.to_le_bytes());
        }
        sealed::seal(out)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut input = sealed::open(bytes, MAGIC, VERSION).ok()?;
        let key = input.text()?.to_owned();
        let (of, sources) = (RunRows::read(&mut input)?, input.u64()?);
        let (facts_before, facts_last) = (input.u32()?, input.u32()?);
        let made_from = MadeFrom { of, sources, facts_before, facts_last };
        let view = (RunId(input.array()?), input.u64()?);
        let evaluation = match input.u64()? {
            0 => None,
            _ => Some(evaluation(&mut input)?),
        };
        input.is_at_end().then_some(Self { key, made_from, view, evaluation })
    }
}

fn evaluation(input: &mut Reader<'_>) -> Option<EvaluationState> {
    let source = usize::try_from(input.u64()?).ok()?;
    let start = Start { delayed: input.i64()?, recorded: input.i64()? };
    let rows = input.u64()?;
    let (network, gate) = (input.sized()?.to_vec(), input.sized()?.to_vec());
    let bounds = (0..input.len(8)?).map(|_| input.i64()).collect::<Option<_>>()?;
    Some(EvaluationState { source, start, rows, network, gate, bounds })
}

#[cfg(test)]
mod tests {
    use tagq_store::{Crc, RowsId};

    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written_and_damage_is_noticed() {
        let evaluation = EvaluationState {
            source: 3,
            start: Start { delayed: -7, recorded: 9 },
            rows: 1 << 40,
            network: vec![1, 2, 3],
            gate: vec![4],
            bounds: vec![-5, 6],
        };
        let rows = RowsId { rows: 77, chain: Crc(1), sources: Crc(2) };
        let (sources, facts_before, facts_last) = (2, 3, 4);
        let of = RunRows { run: RunId([7; 16]), rows };
        let made_from = MadeFrom { of, sources, facts_before, facts_last };
        for evaluation in [None, Some(evaluation)] {
            let (key, made_from) = ("a\nb".into(), made_from.clone());
            let state = ViewState { key, made_from, view: (RunId([9; 16]), 5), evaluation };
            let bytes = state.to_bytes();
            assert_eq!(ViewState::from_bytes(&bytes), Some(state));
            for at in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x10;
                assert_eq!(ViewState::from_bytes(&damaged), None, "{at}");
                assert_eq!(ViewState::from_bytes(&bytes[..at]), None, "{at}");
            }
        }
    }
}
