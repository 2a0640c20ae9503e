//! The streaming decoder against the reference implementation of Cap'n Proto.

use tagq_ingest::{Error, Settings, Summary};
use tagq_store::Tag;

use crate::{
    recipe::Recipe,
    support::{
        Choices, Lists, Shape, damage, file, frame, framed, handed, laid_out, reference,
        reference_within, tag,
    },
};

/// The decoder gives the tags that the reference implementation gives, message by message, or
/// refuses by name; as a plain file and in a Zstandard frame; read whole, up to the fault, and as far
/// as it goes.
///
/// The input is a file after a byte that is a multiple of 4, else a recipe for one.
///
/// # Panics
/// When it does not.
pub fn messages(input: &[u8]) {
    let mut recipe = Recipe::new(input);
    let bytes = match recipe.byte() % 4 {
        0 => recipe.rest().to_vec(),
        _ => stream(&mut recipe),
    };
    if !begins_as_frame(&bytes) {
        check(&bytes);
    }
}

/// A stream of messages, which may be damaged and cut.
pub(crate) fn stream(recipe: &mut Recipe<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..=recipe.below(4) {
        let lists = lists(recipe);
        let shape = Shape {
            segments: 1 + recipe.below(5),
            root: (recipe.below(3) as u64, 1 + recipe.below(2) as u64),
            element: (2 + recipe.below(3) as u64, recipe.below(3) as u64),
        };
        let choices = (0..recipe.below(64)).map(|_| recipe.byte().into()).collect();
        let mut segments = laid_out(&lists, shape, &mut Choices::new(choices));
        for _ in 0..recipe.below(4) {
            let mut words: Vec<&mut u64> = segments.iter_mut().flatten().collect();
            let at = recipe.below(words.len());
            damage(words[at], recipe.byte().into(), recipe.word());
        }
        bytes.extend(framed(&segments));
    }
    for _ in 0..recipe.below(3) {
        let at = recipe.below(bytes.len());
        bytes[at] ^= recipe.byte();
    }
    if recipe.is() {
        bytes.truncate(recipe.below(bytes.len()));
    }
    bytes
}

/// Lists of tags, mostly near each other in time.
fn lists(recipe: &mut Recipe<'_>) -> Lists {
    let mut time = 0_i64;
    let mut list = |recipe: &mut Recipe<'_>| {
        let tags = (0..recipe.below(12)).map(|_| {
            time = time.wrapping_add(recipe.number());
            tag(time, recipe.word())
        });
        tags.collect()
    };
    (0..recipe.below(6)).map(|_| list(recipe)).collect()
}

fn begins_as_frame(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(4)];
    let begins = |magic: [u8; 4]| !start.is_empty() && magic.starts_with(start);
    begins([0x28, 0xb5, 0x2f, 0xfd])
        || bytes.first().is_some_and(|first| first >> 4 == 5 && begins([*first, 0x2a, 0x4d, 0x18]))
}

/// Whether these were taken for text, or for the records of an instrument, of which the reference knows nothing.
pub(crate) fn is_text(result: &Result<Summary, Error>) -> bool {
    match result {
        Ok(summary) => summary.columns.is_some() || summary.records.is_some(),
        Err(error) => matches!(error, Error::Line { .. } | Error::Columns { .. }),
    }
}

fn check(bytes: &[u8]) {
    let (_folder, path) = file(bytes);
    let (tags, result) = handed(&path, &Settings::default());
    if is_text(&result) {
        return;
    }
    let (whole, rest) = split(bytes);
    let good = match &result {
        Ok(summary) => summary.messages as usize,
        Err(Error::TornMessage { message, .. } | Error::Message { message, .. }) => {
            *message as usize - 1
        }
        Err(Error::NotTags { .. }) => 0,
        Err(error) => panic!("{error}"),
    };
    // What stands in the messages that were read is what the reference reads there.
    let mut after = &tags[..];
    for message in &whole[..good] {
        let expected = as_the_reference_reads(message).expect("a message that was read");
        assert!(after.starts_with(&expected), "{after:?} instead of {expected:?}");
        after = &after[expected.len()..];
    }
    match &result {
        Ok(summary) => {
            assert!(after.is_empty() && rest.is_empty(), "{after:?} {rest:?}");
            assert_eq!(good, whole.len());
            assert_eq!(summary.tags, tags.len() as u64);
            assert_eq!((summary.resume_byte, &summary.torn), (bytes.len() as u64, &None));
        }
        Err(Error::NotTags { .. }) => {
            assert!(tags.is_empty() && whole.is_empty(), "{tags:?} {whole:?}");
        }
        Err(Error::TornMessage { .. }) => {
            assert!(good == whole.len() && !rest.is_empty(), "{good} messages, {rest:?}");
            check_torn(rest, after);
        }
        Err(Error::Message { reason, .. }) => {
            if let Some(Ok(expected)) = whole.get(good).map(|message| reference(message)) {
                assert!(is_ours_alone(reason), "{reason}: {expected:?}");
                assert!(expected.starts_with(after), "{after:?} instead of {expected:?}");
            }
        }
        Err(error) => panic!("{error}"),
    }
    let is_torn = matches!(result, Err(Error::TornMessage { .. }));
    let first = Settings { messages_max: Some(good as u64), ..Settings::default() };
    if is_torn || matches!(result, Err(Error::Message { .. })) {
        let (first, result) = handed(&path, &first);
        assert_eq!(result.unwrap().messages, good as u64);
        assert_eq!(first, tags[..tags.len() - after.len()]);
    }
    let salvage = Settings { salvage: true, ..Settings::default() };
    let (salvaged, salvage) = handed(&path, &salvage);
    assert_eq!(salvaged, tags);
    assert!(if is_torn { salvage.is_ok() } else { is_same(&result, &salvage) }, "{salvage:?}");
    // Of less than four bytes nobody can say what they begin.
    if bytes.len() >= 4 {
        let (_folder, path) = file(&frame(bytes, true));
        let (in_frame, frame) = handed(&path, &Settings::default());
        assert_eq!(in_frame, tags);
        assert!(is_same(&result, &frame), "{result:?}, in a frame {frame:?}");
    }
}

/// The tags handed on of a torn message are those of the message with zeros after.
fn check_torn(rest: &[u8], tags: &[Tag]) {
    let Some(len) = claimed(rest).filter(|&len| len < 1 << 20) else { return };
    let mut padded = rest.to_vec();
    padded.resize(len, 0);
    if let Ok(expected) = reference(&padded) {
        assert!(expected.starts_with(tags), "{tags:?} instead of {expected:?}");
    }
}

fn as_the_reference_reads(message: &[u8]) -> capnp::Result<Vec<Tag>> {
    // Pointers to one list of no tags cost the reference its words each time, and nothing here.
    match reference(message) {
        Err(error) if error.to_string().contains("limit") => reference_within(message, usize::MAX),
        result => result,
    }
}

/// Whether the reference may read what is refused for this reason: lists of what no recorder writes,
/// words that are said twice, and double far pointers to pads that are none or whose tag has an
/// offset, which the encoding rules out and the reference does not look at.
fn is_ours_alone(reason: &str) -> bool {
    [
        "its first field is no list of lists",
        "its elements are shorter than a tag",
        "an inner list is no list of tags",
        "its lists share words",
        "a double far pointer does not lead to a far pointer",
        "the tag of a double far pointer has an offset",
    ]
    .iter()
    .any(|known| reason.starts_with(known))
}

fn is_same(a: &Result<Summary, Error>, b: &Result<Summary, Error>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => (a.messages, a.tags) == (b.messages, b.tags),
        (Err(Error::NotTags { .. }), Err(Error::NotTags { .. })) => true,
        (
            Err(Error::TornMessage { message: a, .. }),
            Err(Error::TornMessage { message: b, .. }),
        ) => a == b,
        (
            Err(Error::Message { message: message_a, word: word_a, reason: a, .. }),
            Err(Error::Message { message: message_b, word: word_b, reason: b, .. }),
        ) => (message_a, word_a, a) == (message_b, word_b, b),
        _ => false,
    }
}

/// The messages that are all there, and what follows them.
fn split(bytes: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut whole = Vec::new();
    let mut rest = bytes;
    while let Some((message, after)) = claimed(rest).and_then(|len| rest.split_at_checked(len)) {
        whole.push(message);
        rest = after;
    }
    (whole, rest)
}

/// The length in bytes that a segment table claims for its message; nothing without a whole table
/// of at most 511 segments.
fn claimed(bytes: &[u8]) -> Option<usize> {
    let numbers: Vec<u32> =
        bytes.as_chunks::<4>().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
    let segments = *numbers.first()? as usize + 1;
    if segments > 511 || bytes.len() < 8 * (segments / 2 + 1) {
        return None;
    }
    let words: usize = numbers[1..=segments].iter().map(|&words| words as usize).sum();
    Some(8 * (segments / 2 + 1 + words))
}
