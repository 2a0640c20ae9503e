//! The words of a message that later pointers may point to.
//!
//! Words that were handed out as tags when they arrived are not kept. A pointer to them is an error, because a small
//! message could otherwise become any number of tags.

use std::{fs::File, ops::Range};

use tagq_store::os;

use super::fault::{MessageFault, malformed};

/// Words kept in memory before they move to a file: 16 MiB.
const KEPT_WORDS_MAX: usize = 2 << 20;

/// Words that have arrived and may still be pointed to: in memory, then in an unlinked file.
#[derive(Default)]
pub(super) struct Kept {
    /// Each stored range of word numbers, and its place in the storage.
    runs: Vec<(Range<u64>, u64)>,
    memory: Vec<u8>,
    /// Bytes that moved to the file; the memory continues after them.
    spilled: u64,
    file: Option<File>,
    /// How many bytes may be kept.
    bytes_max: u64,
}

impl Kept {
    pub(super) fn new(bytes_max: u64) -> Self {
        Self { bytes_max, ..Self::default() }
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.memory.clear();
        self.spilled = 0;
        self.file = None;
    }

    /// Adds words from number `start` on, which come after all added before.
    pub(super) fn add(&mut self, start: u64, bytes: &[u8]) -> Result<(), MessageFault> {
        let end = start + bytes.len() as u64 / 8;
        let stored = self.spilled + self.memory.len() as u64;
        if stored + bytes.len() as u64 > self.bytes_max {
            return Err(malformed(
                start,
                "to read its lists in order, more than 64 times the size of the file would have \
                 to be set aside (is it a decompression bomb?)",
            ));
        }
        match self.runs.last_mut() {
            Some((run, _)) if run.end == start => run.end = end,
            _ => self.runs.push((start..end, stored)),
        }
        self.memory.extend_from_slice(bytes);
        if self.memory.len() > KEPT_WORDS_MAX * 8 { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<(), MessageFault> {
        let file = match self.file.take() {
            Some(file) => file,
            None => tempfile::tempfile().map_err(MessageFault::Spill)?,
        };
        os::write_all_at(&file, &self.memory, self.spilled).map_err(MessageFault::Spill)?;
        self.spilled += self.memory.len() as u64;
        self.memory.clear();
        self.file = Some(file);
        Ok(())
    }

    /// Fills `bytes` with the words from number `at` on.
    pub(super) fn read(&self, at: u64, bytes: &mut [u8]) -> Result<(), MessageFault> {
        let end = at + bytes.len() as u64 / 8;
        let run = self.runs.partition_point(|(run, _)| run.end <= at);
        let (start, stored) = match self.runs.get(run) {
            Some((run, stored)) if run.start <= at && end <= run.end => (run.start, *stored),
            // All that arrived is kept but what was handed out as tags.
            _ => return Err(malformed(at, "its lists share words")),
        };
        let from = stored + (at - start) * 8;
        let in_file = self.spilled.saturating_sub(from).min(bytes.len() as u64);
        let (first, second) = bytes.split_at_mut(as_len(in_file));
        if let (Some(file), false) = (&self.file, first.is_empty()) {
            os::read_exact_at(file, first, from).map_err(MessageFault::Spill)?;
        }
        let from = as_len((from + in_file).saturating_sub(self.spilled));
        second.copy_from_slice(&self.memory[from..from + second.len()]);
        Ok(())
    }
}

#[expect(clippy::cast_possible_truncation, reason = "lengths of buffers in memory, on 64 bits")]
pub(super) fn as_len(n: u64) -> usize {
    n as usize
}
