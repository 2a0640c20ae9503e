//! Notes about one answer, for the client that asked.
//!
//! The notes `±1 ns` and `±1 ns` are one note, `["\u00b11 ns"]` in a header, which takes ASCII alone. Notes of one
//! answer have at most 4,096 bytes; after that one note says that further ones are left out.

use std::{
    cell::RefCell,
    fmt::Write as _,
    sync::{Arc, atomic::AtomicU64},
};

use tagq::{Progress, query::ScanProgress};

/// Bytes of the notes about one answer at most, so that they fit in a header.
const BYTES_MAX: usize = 4096;
/// The last note if there are more.
const LEFT_OUT: &str = "further notes are left out";

/// Receives the notes of one answer, each once.
pub(crate) struct NoteRecorder<'a> {
    progress: &'a dyn Progress,
    notes: RefCell<Vec<String>>,
}

impl<'a> NoteRecorder<'a> {
    /// Records notes; `progress` receives the progress of the query and can cancel it.
    pub fn new(progress: &'a dyn Progress) -> Self {
        Self { progress, notes: RefCell::default() }
    }

    /// Adds the notes so far to `notes`.
    pub fn add_to(&self, notes: &mut Vec<String>) {
        self.notes.borrow().iter().for_each(|note| add(notes, note));
    }
}

impl Progress for NoteRecorder<'_> {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}

    fn note(&self, note: &str) {
        add(&mut self.notes.borrow_mut(), note);
    }

    /// Discards the note that work takes long: it comes with the answer, when it is over.
    fn note_long(&self, _: &str) {}

    fn scan(&self) -> Option<&ScanProgress> {
        self.progress.scan()
    }
}

/// Adds a note that is not there yet. Of too many, the last one says that there are more.
pub(crate) fn add(notes: &mut Vec<String>, note: &str) {
    let has = |note: &str| notes.iter().any(|other| other == note);
    if has(note) || has(LEFT_OUT) {
        return;
    }
    let bytes: usize = notes.iter().map(String::len).sum();
    let fits = bytes + note.len() <= BYTES_MAX;
    notes.push(if fits { note } else { LEFT_OUT }.to_owned());
}

/// Returns notes as a list in JSON in ASCII, as a header can have them.
pub(crate) fn ascii(notes: &[String]) -> String {
    let mut ascii = String::new();
    for letter in serde_json::json!(notes).to_string().chars() {
        if matches!(letter, ' '..='~') {
            ascii.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_kept_once_and_all_of_them_fit_in_a_header() {
        let mut notes = Vec::new();
        for note in ["±1 ns", "±1 ns", "b\n\u{1F600}"] {
            add(&mut notes, note);
        }
        let header = ascii(&notes);
        assert_eq!(header, r#"["\u00b11 ns","b\n\ud83d\ude00"]"#);
        assert_eq!(serde_json::from_str::<Vec<String>>(&header).unwrap(), notes);
        add(&mut notes, &"x".repeat(4096));
        add(&mut notes, "small");
        assert_eq!(notes[2..], [LEFT_OUT]);
    }
}
