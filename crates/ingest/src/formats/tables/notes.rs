//! Notes that `tagq export` leaves in a table.

use tagq_store::Tick;

use crate::formats::format::Header;

/// The header that these notes make.
pub(super) fn header<'a>(notes: impl IntoIterator<Item = (&'a str, &'a str)>) -> Header {
    let mut header = Header::default();
    for (key, value) in notes {
        match key {
            "tagq.tick" => header.tick = Tick::from_fraction(value).ok(),
            "tagq.micro_tick" => header.micro_tick = Tick::from_fraction(value).ok(),
            "tagq.tick_assumed" => header.tick_assumed = value == "true",
            _ => {}
        }
    }
    header
}
