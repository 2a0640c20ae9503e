//! The errors of definitions and of their evaluation.

use tagq_store::UnitError;

/// The reason why definitions cannot be read or evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error in the text of one definition.
    #[error("definition of `{name}`: {error}")]
    Definition {
        /// The name of the definition.
        name: String,
        /// The reason.
        error: Box<Error>,
    },
    /// A text has no operator.
    #[error("`{text}` has no operator; write a definition like one of these: {examples}")]
    NoOperator {
        /// The text as given.
        text: String,
        /// An example for each operator.
        examples: String,
    },
    /// A text has several operators.
    #[error(
        "`{text}` has the operators `{first}` and `{second}`; a definition has one: give a part of it a name of its \
         own, and use the name here"
    )]
    TwoOperators {
        /// The text as given.
        text: String,
        /// The first operator.
        first: &'static str,
        /// The second one.
        second: &'static str,
    },
    /// A text does not have the form that its operator needs.
    #[error("`{text}` does not have the form {forms}; an example: {example}")]
    Form {
        /// The text as given.
        text: String,
        /// The forms of the operator.
        forms: String,
        /// A definition that would do.
        example: &'static str,
    },
    /// A name that must be in quotes.
    #[error(
        "`{word}` in `{text}` is neither a channel number nor a plain word (letters, digits, `_` and `-`, beginning with \
         a letter or `_`, and no word of the grammar); put names like that in double quotes"
    )]
    NotPlain {
        /// The text as given.
        text: String,
        /// The word.
        word: String,
    },
    /// A quote without its end.
    #[error("`{text}` has a double quote without its end; a quote inside a name is written twice")]
    OpenQuote {
        /// The text as given.
        text: String,
    },
    /// A channel number is too large.
    #[error("channel {number} in `{text}` is out of range; channels are 0 to 65535")]
    ChannelNumber {
        /// The text as given.
        text: String,
        /// The number.
        number: String,
    },
    /// Another number is out of range.
    #[error(
        "`{number}` in `{text}` is out of range; `{operator}` takes a whole number from {least} to {most}"
    )]
    Number {
        /// The text as given.
        text: String,
        /// The operator.
        operator: &'static str,
        /// The number.
        number: String,
        /// The smallest number allowed.
        least: u64,
        /// The largest one.
        most: u64,
    },
    /// Too many operands.
    #[error("`{text}` has {operands} operands; `{operator}` takes at most {most}")]
    Operands {
        /// The text as given.
        text: String,
        /// The operator.
        operator: &'static str,
        /// The number of operands.
        operands: usize,
        /// The largest number allowed.
        most: usize,
    },
    /// A duration cannot be read, or does not fit the tick.
    #[error("in `{text}`: {error}")]
    Duration {
        /// The text as given.
        text: String,
        /// The reason.
        error: UnitError,
    },
    /// A duration that must be longer.
    #[error("`{duration}` is too short; `{operator}` takes a duration {least}")]
    TooShort {
        /// The duration as given.
        duration: String,
        /// The operator.
        operator: &'static str,
        /// The condition on the duration: longer than zero, or zero or more.
        least: &'static str,
    },
    /// A duration is too long.
    #[error("`{duration}` is too long; a duration in a definition is at most 2^62 ticks")]
    TooLong {
        /// The duration as given.
        duration: String,
    },
    /// A range holds no whole tick.
    #[error(
        "the range {range} holds no whole number of ticks; its end must be after its start, at least one tick of {tick}"
    )]
    EmptyRange {
        /// The range as given.
        range: String,
        /// The tick.
        tick: String,
    },
    /// The run has no micro times.
    #[error("`micro` needs micro times, and the run has none")]
    NoMicro,
    /// A name of a definition that cannot be used.
    #[error(
        "`{name}` cannot name a definition: a name begins with neither a digit nor `-`, and contains no comma, no `=` and \
         no control character"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// Two definitions have one name.
    #[error("two definitions have the name `{name}`; rename one of them")]
    SameName {
        /// The name.
        name: String,
    },
    /// A definition has the name of a channel.
    #[error("`{name}` is the name of channel {channel}; give the definition another name")]
    NameOfChannel {
        /// The name.
        name: String,
        /// The channel.
        channel: u16,
    },
    /// Too many definitions.
    #[error("{count} definitions; at most {most} are allowed")]
    TooMany {
        /// The number of definitions.
        count: usize,
        /// The largest number allowed.
        most: usize,
    },
    /// A gate is defined among channels, or a channel among gates.
    #[error(
        "`{text}` makes a {made}; definitions in {section} make {expected}s: move it to {other}"
    )]
    WrongSection {
        /// The text as given.
        text: String,
        /// The result of the operator, a channel or a gate.
        made: &'static str,
        /// The section that it is in.
        section: &'static str,
        /// The result of definitions of the section.
        expected: &'static str,
        /// The section that it belongs in.
        other: &'static str,
    },
    /// An operand is nothing that is known.
    #[error(
        "`{operand}` in `{text}` is neither a channel nor a definition; definitions are: {known}"
    )]
    Unknown {
        /// The text as given.
        text: String,
        /// The operand.
        operand: String,
        /// The names of all definitions.
        known: String,
    },
    /// An operand is a gate where a channel is expected, or the other way round.
    #[error("`{operand}` in `{text}` is a {found}; `{operator}` takes {expected}s")]
    WrongOperand {
        /// The text as given.
        text: String,
        /// The operand.
        operand: String,
        /// The kind of the operand, a channel or a gate.
        found: &'static str,
        /// The operator.
        operator: &'static str,
        /// The kind that the operator takes.
        expected: &'static str,
    },
    /// A derived channel where a real one is needed.
    #[error(
        "`{operand}` in `{text}` is a derived channel, which has no micro times; use `micro` with a channel of the run, \
         and derive from the result"
    )]
    DerivedMicro {
        /// The text as given.
        text: String,
        /// The operand.
        operand: String,
    },
    /// One operand stands twice in a definition.
    #[error("`{operand}` stands twice in `{text}`; the operands of `{operator}` are different")]
    SameOperand {
        /// The text as given.
        text: String,
        /// The operand.
        operand: String,
        /// The operator.
        operator: &'static str,
    },
    /// Definitions need each other.
    #[error(
        "definitions need each other in a circle: {path}; define one of them by channels alone"
    )]
    Circle {
        /// The names along the circle.
        path: String,
    },
    /// A wanted channel is a gate, or the other way round.
    #[error("`{name}` is a {found}; a {expected} is expected here")]
    WrongOutput {
        /// The name of the definition.
        name: String,
        /// Its kind, a channel or a gate.
        found: &'static str,
        /// The expected kind.
        expected: &'static str,
    },
    /// The tags of a channel or definition that a gate needs do not come in.
    #[error("the tags of {operand}, which a gate needs, have no label")]
    NoLabel {
        /// The channel or definition.
        operand: String,
    },
    /// Tags are not in order of time.
    #[error(
        "tags are out of order: {time} comes after {before}; the columns of the run are damaged"
    )]
    Unordered {
        /// The time that is too early.
        time: i64,
        /// The time or frontier before it.
        before: i64,
    },
    /// Tags with equal times are not in order of rows.
    #[error("tags with the time {time} are not in order of their rows")]
    UnorderedRows {
        /// The time.
        time: i64,
    },
    /// The columns of a batch have different lengths.
    #[error(
        "the columns of a batch have different lengths: {times} times, {rows} rows, {labels} labels, {micro} micro times"
    )]
    Lengths {
        /// The number of times.
        times: usize,
        /// The number of rows.
        rows: usize,
        /// The number of labels.
        labels: usize,
        /// The number of micro times.
        micro: usize,
    },
    /// More tags wait for later ones than are held in memory.
    #[error(
        "`{name}`: definitions hold more than {most} tags at once up to this one; take shorter durations, or fewer definitions or tags"
    )]
    Waiting {
        /// The definition for which they wait.
        name: String,
        /// The largest number.
        most: usize,
    },
    /// Saved bytes are damaged.
    #[error("the saved state is damaged")]
    Damaged,
    /// Saved bytes belong to other definitions.
    #[error("the saved state belongs to other definitions")]
    OtherState,
}
