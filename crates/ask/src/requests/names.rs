//! Names of channels that a caller gives in place of those of the setup.
//!
//! With the names H for channel 1 and V for 2 in place of Alice and Bob, the option `groups` Alice,Bob of the setup
//! becomes 1,2: the options of the setup mean the same channels as before.

use std::collections::BTreeMap;

use serde_json::Value;
use tagq_run::{Channel, RequestError, Setup, escaped};

use super::{
    options::{OptionValues, RequestType, ValueType},
    request::REQUEST_TYPES,
};

use crate::error::Error;

/// Returns the same setup with these names of channels in place of its own. The options of queries that it states
/// mean the same channels as before.
///
/// # Errors
/// [`tagq_run::RequestError`] for a name that cannot be one, and for a channel with two names.
pub fn renamed(setup: &Setup, names: &BTreeMap<String, u16>) -> Result<Setup, Error> {
    let mut by_channel: BTreeMap<u16, &String> = BTreeMap::new();
    for (name, &channel) in names {
        if !matches!(name.parse(), Ok(Channel::Name(of)) if of == *name) {
            let name = escaped(name);
            return Err(RequestError::options(
                &["names"],
                format!("`names`: `{name}` cannot be a name"),
            )
            .into());
        }
        if let Some(other) = by_channel.insert(channel, name) {
            return Err(RequestError::options(
                &["names"],
                format!(
                    "`names`: channel {channel} has two names, `{other}` and `{name}`; give one"
                ),
            )
            .into());
        }
    }
    let names = by_channel.into_iter().map(|(channel, name)| (channel, name.clone()));
    let mut renamed = Setup { names: names.collect(), ..setup.clone() };
    for (query, options) in &mut renamed.queries {
        if let Some(of) = REQUEST_TYPES.into_iter().find(|of| of.name == query) {
            *options = of.with_numbers(options, setup)?;
        }
    }
    Ok(renamed)
}

impl RequestType {
    /// Returns these options with the numbers of channels in place of their names.
    ///
    /// # Errors
    /// [`tagq_run::Error::NoSuchChannel`].
    pub fn with_numbers(
        &self,
        options: &OptionValues,
        setup: &Setup,
    ) -> Result<OptionValues, Error> {
        let mut options = options.clone();
        for option in self.options() {
            let Some(value) = options.get_mut(option.name) else { continue };
            match option.value {
                ValueType::Channel(_) => number(value, setup)?,
                ValueType::Channels(_) => numbers(value, setup)?,
                ValueType::Groups(_) => {
                    let groups = value.as_array_mut().into_iter().flatten();
                    groups.into_iter().try_for_each(|group| numbers(group, setup))?;
                }
                ValueType::Delays(_) => {
                    let delays = value.as_array_mut().into_iter().flatten();
                    let mut channels = delays.filter_map(|delay| delay.as_array_mut()?.first_mut());
                    channels.try_for_each(|channel| number(channel, setup))?;
                }
                ValueType::Flag
                | ValueType::Text(_)
                | ValueType::Texts(_)
                | ValueType::Marker(_)
                | ValueType::Path(_)
                | ValueType::Number(_)
                | ValueType::Choice(_) => {}
            }
        }
        Ok(options)
    }
}

fn numbers(list: &mut Value, setup: &Setup) -> Result<(), Error> {
    list.as_array_mut().into_iter().flatten().try_for_each(|channel| number(channel, setup))
}

/// Replaces a name by its number. Values that are no channel are left for the request to reject.
fn number(channel: &mut Value, setup: &Setup) -> Result<(), Error> {
    if let Some(of) = channel.as_str().and_then(|text| text.parse::<Channel>().ok()) {
        *channel = setup.channel(&of)?.into();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn new_names_replace_the_old_ones_and_mean_the_same_channels() {
        let text = "[channels]\n1 = \"Alice\"\n2 = \"Bob\"\n[delays]\nBob = \"1ns\"\n\
                    [coincidences]\ngroups = [[\"Alice\", \"Bob\"]]\nveto = [\"Bob\"]\nwindow = \"2ns\"\n\
                    [g2]\nstart = \"Alice\"\ndelays = [[\"Bob\", \"3ns\"], \"auto\"]\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tagq.toml");
        std::fs::write(&path, text).unwrap();
        let setup = Setup::written(folder.path(), Some(&path)).unwrap();
        let names = |of: &[(&str, u16)]| {
            of.iter().map(|(name, of)| ((*name).to_owned(), *of)).collect::<BTreeMap<_, _>>()
        };
        let other = renamed(&setup, &names(&[("V", 2), ("H", 1)])).unwrap();
        assert_eq!(other.names, [(1, "H".to_owned()), (2, "V".to_owned())]);
        assert_eq!(other.delays, setup.delays);
        let options = |query: &str| Value::from(other.queries[query].clone());
        assert_eq!(
            options("coincidences"),
            json!({"groups": [[1, 2]], "veto": [2], "window": "2ns"})
        );
        assert_eq!(options("g2"), json!({"start": 1, "delays": [[2, "3ns"], "auto"]}));
        for (wrong, reason) in
            [(names(&[("7", 2)]), "cannot be a name"), (names(&[("a", 2), ("b", 2)]), "two names")]
        {
            assert!(renamed(&setup, &wrong).unwrap_err().to_string().contains(reason));
        }
    }
}
