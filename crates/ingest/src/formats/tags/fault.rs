//! Why a message could not be read.

use std::io;

use crate::error::Error;

/// Why a message could not be read.
#[derive(Debug)]
pub(super) enum MessageFault {
    /// The input ends inside the message.
    Torn,
    /// The message is not what the schema says, seen at this word.
    Malformed { word: u64, reason: &'static str },
    /// The input cannot be read.
    Input(io::Error),
    /// Kept words cannot be written or read.
    Spill(io::Error),
    /// The receiver of the tags refused.
    Sink(Error),
}

pub(super) fn malformed(word: u64, reason: &'static str) -> MessageFault {
    MessageFault::Malformed { word, reason }
}
