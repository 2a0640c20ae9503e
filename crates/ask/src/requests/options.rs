//! The options of requests: one table, from which the command line, Python and other callers offer them.
//!
//! A request that was made with rule `all` is stated without `rule`, because that is the default. `check` rejects
//! unknown and contradicting options for every caller, so that they have the same error everywhere.

use serde::{Deserialize as _, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value};
use serde_path_to_error::Segment;
use tagq_run::RequestError;

use crate::error::Error;

/// Options with their values, in the form that a request deserialises from.
pub type OptionValues = Map<String, Value>;

/// A request that a user can state by name: a kind of request, with its options.
#[derive(Debug)]
pub struct RequestType {
    /// Its name.
    pub name: &'static str,
    /// Summary of what it counts, in one line.
    pub summary: &'static str,
    /// Further description.
    pub details: &'static str,
    /// The options of channels, which can also be given as an argument in front of the run.
    pub channels: Option<ChannelArgument>,
    /// The options, apart from the selection.
    pub options: &'static [&'static [RequestOption]],
    /// The options of the selection.
    pub selection: &'static [&'static [RequestOption]],
    /// Options that are set by the name.
    pub preset: &'static [&'static str],
    /// The options that the list of the tags of each count does not take; `None` if they cannot be listed.
    pub unlisted: Option<&'static [&'static str]>,
    /// Examples as options and their values.
    pub examples: &'static [&'static [(&'static str, &'static str)]],
    /// Each way in which it is counted, as options, for tests: of the channels 1 to 4, within some hundred ticks. A case
    /// without `delays` takes any.
    pub cases: fn() -> Vec<Value>,
}

/// Channels, separated by commas, in place of the options for them.
#[derive(Debug, Clone, Copy)]
pub struct ChannelArgument {
    /// Name of the value.
    pub value_name: &'static str,
    /// One option for a list or groups of channels, or several for one channel each.
    pub options: &'static [&'static str],
    /// Description, for the help.
    pub help: &'static str,
}

/// An option of a request.
#[derive(Debug, Clone, Copy)]
pub struct RequestOption {
    /// Its name, and that of the field of the request.
    pub name: &'static str,
    /// The type of its value.
    pub value: ValueType,
    /// Description, in one line.
    pub help: &'static str,
    /// The group of options that it belongs to.
    pub section: Section,
    /// The value that applies by default, to be shown.
    pub default: Option<&'static str>,
    /// The value that its name alone stands for, on a command line.
    pub alone: Option<&'static str>,
    /// Options that it excludes.
    pub excludes: &'static [&'static str],
    /// The option that it requires.
    pub requires: Option<&'static str>,
    /// Whether its value may start with a minus sign.
    pub is_signed: bool,
}

/// The option that refuses to round the widths of bins.
pub(super) const EXACT_BINS: RequestOption = RequestOption::new(
    "exact_bins",
    ValueType::Flag,
    "Refuse bins that are no whole number of ticks, in place of rounding them",
);

/// Groups of options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The quantity that is counted.
    Counts,
    /// Accidental coincidences.
    Accidentals,
    /// The tags that are used.
    Selection,
}

/// The type of the value of an option.
#[derive(Debug, Clone, Copy)]
pub enum ValueType {
    /// True or false.
    Flag,
    /// A text with this value name.
    Text(&'static str),
    /// Texts with this value name; the option can be repeated.
    Texts(&'static str),
    /// A channel or a gate, by its name or as a definition states it, with this value name.
    Marker(&'static str),
    /// A whole number with this value name.
    Number(&'static str),
    /// The path of a file or folder, with this value name.
    Path(&'static str),
    /// One of several names, each with its description.
    Choice(fn() -> Vec<[&'static str; 2]>),
    /// A channel.
    Channel(&'static str),
    /// Channels separated by commas.
    Channels(&'static str),
    /// Groups of channels; the option can be repeated.
    Groups(&'static str),
    /// Pairs of a channel and a duration; the option can be repeated.
    Delays(&'static str),
}

/// Value name of a method, the only texts that are not times.
const METHOD: &str = "HOW";
/// Value name of a range of times.
const RANGE: &str = "R";

impl ValueType {
    /// Whether the value is a time in some form: a duration, a range of durations, a moment, or the delays of channels.
    pub fn is_duration(&self) -> bool {
        matches!(self, Self::Text(name) if *name != METHOD) || matches!(self, Self::Delays(_))
    }

    /// Whether the value is a range of durations, or one duration on both sides of zero.
    pub fn is_range(&self) -> bool {
        matches!(self, Self::Text(RANGE))
    }
}

impl RequestOption {
    /// Creates an option of the section [`Section::Counts`].
    pub const fn new(name: &'static str, value: ValueType, help: &'static str) -> Self {
        Self {
            name,
            value,
            help,
            section: Section::Counts,
            default: None,
            alone: None,
            excludes: &[],
            requires: None,
            is_signed: false,
        }
    }

    pub(super) const fn section(self, section: Section) -> Self {
        Self { section, ..self }
    }

    pub(super) const fn default(self, value: &'static str) -> Self {
        Self { default: Some(value), ..self }
    }

    pub(super) const fn alone(self, value: &'static str) -> Self {
        Self { alone: Some(value), ..self }
    }

    pub(super) const fn excludes(self, excludes: &'static [&'static str]) -> Self {
        Self { excludes, ..self }
    }

    pub(super) const fn requires(self, option: &'static str) -> Self {
        Self { requires: Some(option), ..self }
    }

    /// Returns the option with values that may be negative.
    #[must_use]
    pub const fn signed(self) -> Self {
        Self { is_signed: true, ..self }
    }

    /// Whether it can be given several times, one value each.
    pub fn is_repeated(&self) -> bool {
        matches!(self.value, ValueType::Groups(_) | ValueType::Delays(_) | ValueType::Texts(_))
    }
}

impl RequestType {
    /// Iterates over all options, those of the selection last.
    pub fn options(&self) -> impl Iterator<Item = &'static RequestOption> {
        let own = self.options.iter().copied().flatten();
        own.chain(self.selection.iter().copied().flatten())
    }

    /// Whether the option can be given by the argument of channels.
    pub fn is_channel(&self, name: &str) -> bool {
        self.channels.is_some_and(|channels| channels.options.contains(&name))
    }

    /// Adds the channels of such an argument, `3,15`, to the options.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] if it is not a list as the request needs it, or if its options are given, too.
    pub fn add_channels(&self, text: &str, options: &mut OptionValues) -> Result<(), Error> {
        let Some(ChannelArgument { value_name, options: names, .. }) = self.channels else {
            return Err(RequestError::options(
                &["channels"],
                format!("{} takes no channels: `{text}`", self.name),
            )
            .into());
        };
        let channels: Vec<Value> = text.split(',').map(|channel| channel.trim().into()).collect();
        let [name] = names else {
            if channels.len() != names.len() {
                let count = names.len();
                return Err(RequestError::options(
                    &["channels"],
                    format!("`{text}` is not {count} channels; write them as {value_name}"),
                )
                .into());
            }
            for (name, channel) in names.iter().zip(channels) {
                if options.insert((*name).to_owned(), channel).is_some() {
                    return Err(RequestError::options(
                        &["channels", name],
                        format!(
                            "`{text}` is the channels, and `{name}` is one of them; leave one out"
                        ),
                    )
                    .into());
                }
            }
            return Ok(());
        };
        let is_group = |option: &RequestOption| matches!(option.value, ValueType::Groups(_));
        let is_group = self.options().any(|option| option.name == *name && is_group(option));
        let list = options.entry(*name).or_insert_with(|| Value::Array(Vec::new()));
        let Value::Array(list) = list else { return Ok(()) };
        if is_group {
            list.push(channels.into());
        } else {
            list.extend(channels);
        }
        Ok(())
    }

    /// Checks these options, and returns them as the fields of the request.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] for unknown, missing and contradicting options.
    pub(crate) fn fields(&self, mut options: OptionValues) -> Result<OptionValues, Error> {
        check(self.name, || self.options(), &options)?;
        for name in self.preset {
            options.insert((*name).to_owned(), true.into());
        }
        let is_selection =
            |name: &str| self.selection.iter().copied().flatten().any(|option| option.name == name);
        let (selection, mut own): (OptionValues, OptionValues) =
            options.into_iter().partition(|(name, _)| is_selection(name));
        own.insert("selection".to_owned(), selection.into());
        Ok(own)
    }
}

/// Rejects unknown options of `name`, and contradicting ones.
pub fn check<I: Iterator<Item = &'static RequestOption>>(
    name: &str,
    known: impl Fn() -> I,
    options: &OptionValues,
) -> Result<(), Error> {
    for given in options.keys() {
        let Some(option) = known().find(|option| option.name == given) else {
            let (of, option) = (name.to_owned(), given.clone());
            let known = known().map(|option| option.name).collect();
            return Err(RequestError::UnknownOption { of, option, known }.into());
        };
        if let Some(other) = option.excludes.iter().find(|other| options.contains_key(**other)) {
            return Err(RequestError::excluded(given, other).into());
        }
        if let Some(other) = option.requires.filter(|other| !options.contains_key(*other)) {
            let (option, other) = (given.clone(), other.to_owned());
            return Err(RequestError::Needs { option, other }.into());
        }
    }
    Ok(())
}

/// Returns a request as a user would state it: the name of the first of these types that has its options, and the
/// options that are not as by default, in the order of the table.
pub(super) fn stated(
    request: &impl Serialize,
    types: &[&'static RequestType],
) -> Result<(&'static str, OptionValues), Error> {
    let mut given = OptionValues::new();
    let Value::Object(fields) = serde_json::to_value(request)? else { return Ok(("", given)) };
    for (name, value) in fields {
        match value {
            Value::Object(selection) => given.extend(selection),
            value => drop(given.insert(name, value)),
        }
    }
    given.retain(|_, value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        _ => true,
    });
    let all = || types.iter().flat_map(|of| of.options());
    given.retain(|name, value| {
        let default = all().find(|option| option.name == name).and_then(|option| option.default);
        default.is_none_or(|default| value != default)
    });
    let takes = |of: &RequestType| {
        let is_taken = |name: &str| {
            of.preset.contains(&name) || of.options().any(|option| option.name == name)
        };
        of.preset.iter().all(|name| given.contains_key(*name))
            && given.keys().all(|name| is_taken(name))
    };
    let Some(of) = types.iter().find(|of| takes(of)).or(types.last()) else {
        return Ok(("", given));
    };
    of.preset.iter().for_each(|name| drop(given.remove(*name)));
    let value = |option: &RequestOption| Some((option.name.to_owned(), given.remove(option.name)?));
    let mut options: OptionValues = of.options().filter_map(value).collect();
    // Those that a caller of the library gave, and the type does not have.
    options.extend(given);
    Ok((of.name, options))
}

/// Deserialises a request or its selection; the error names the option.
pub fn deserialize<T: serde::de::DeserializeOwned>(options: OptionValues) -> Result<T, Error> {
    serde_path_to_error::deserialize(Value::Object(options)).map_err(|error| {
        let mut path = error.path().iter();
        let option = path.find_map(|segment| match segment {
            Segment::Map { key } if key != "selection" => Some(key.clone()),
            _ => None,
        });
        let place = path.find_map(|segment| match segment {
            Segment::Seq { index } => Some(*index),
            _ => None,
        });
        let (option, reason) = (option.unwrap_or_default(), error.inner().to_string());
        RequestError::Option { option, place, reason }.into()
    })
}

/// Deserialises one of several named values.
pub fn choice<'de, D: Deserializer<'de>, T: Copy>(
    deserializer: D,
    named: &[(T, [&str; 2])],
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    let found = named.iter().find(|(_, [name, _])| *name == text);
    found.map(|&(of, _)| of).ok_or_else(|| {
        let names: Vec<&str> = named.iter().map(|(_, [name, _])| *name).collect();
        D::Error::custom(format!("`{text}` is none of {}", names.join(", ")))
    })
}
