//! A fit as a user states it.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use tagq_ask::requests::{Channel, OptionValues, ResponseAsked, ResponseSource, options};
use tagq_fit::{
    Intervals, Model, Settings,
    lifetimes::ResponseOf,
    models::{
        Correlation, Decay, Diffusion, Dip, DipShape, EXPONENTIALS_MAX, Emission, KAPPA, Peak, Sine,
    },
};
use tagq_run::{RequestError, serde_as_text};
use tagq_store::Duration;

use super::{
    fit_type::{EMISSIONS, FIT_TYPES, FitType, INTERVALS, PILE_UP, SHAPES},
    observed::Axis,
};

use crate::error::Error;

/// A fit of a model to the answer of a query.
#[derive(Debug, Clone)]
pub struct Fit {
    /// The model.
    pub of: &'static FitType,
    /// Its options.
    pub options: FitOptions,
}

/// The options of all models; each model takes its own.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FitOptions {
    /// Number of exponentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponentials: Option<Exponentials>,
    /// The response of the instrument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub irf: Option<ResponseAsked>,
    /// The channel with the response of the instrument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub irf_channel: Option<Channel>,
    /// The period of the pulses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pulse_period: Option<Duration>,
    /// The treatment of photons that the first one of a pulse hides, by its name.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "pile_up")]
    pub pile_up: Option<String>,
    /// The form of g2, by its name.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "emission")]
    pub emission: Option<String>,
    /// The standard deviation of the jitter of a time difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Duration>,
    /// Number of components that diffuse.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components: Option<u32>,
    /// Whether they have a triplet state.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub triplet: bool,
    /// The waist of the confocal volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waist: Option<Waist>,
    /// The shape of a dip, by its name.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "shape")]
    pub shape: Option<String>,
    /// The range of the axis that is fitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<Between>,
    /// Parameters that are kept at a value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fix: Vec<Setting>,
    /// Starting values of parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guess: Vec<Setting>,
    /// The intervals of parameters, by their name.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "intervals")]
    pub intervals: Option<String>,
    /// Whether the fit is described for a publication.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub methods: bool,
}

/// The number of exponentials of a decay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Value", try_from = "Value")]
pub enum Exponentials {
    /// So many.
    Number(usize),
    /// As many as are significant.
    Auto,
}

impl From<Exponentials> for Value {
    fn from(of: Exponentials) -> Self {
        match of {
            Exponentials::Number(number) => number.into(),
            Exponentials::Auto => "auto".into(),
        }
    }
}

impl TryFrom<Value> for Exponentials {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match text.parse() {
            Ok(number @ 1..=EXPONENTIALS_MAX) => Ok(Self::Number(number)),
            _ if text == "auto" => Ok(Self::Auto),
            _ => Err(format!("`exponentials` is 1, 2 or 3, or `auto`, and not {text}")),
        }
    }
}

/// The response of the instrument and the period of its pulses, which a decay is fitted with.
#[derive(Debug, Clone, Default)]
pub(super) struct Instrument {
    pub response: Option<ResponseOf>,
    /// The period of the pulses in seconds.
    pub period: Option<f64>,
}

/// A range of the axis, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Between(String, String);

/// A parameter and its value, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    name: String,
    value: String,
}

/// A length, as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Waist {
    text: String,
    metres: f64,
}

serde_as_text!(Waist);
serde_as_text!(Between);
serde_as_text!(Setting);

impl std::fmt::Display for Between {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.0, self.1)
    }
}

impl std::str::FromStr for Between {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (low, high) = text
            .split_once("..")
            .ok_or_else(|| format!("`{text}` is no range; write A..B, as 3ns..40ns or 0..360"))?;
        Ok(Self(low.trim().to_owned(), high.trim().to_owned()))
    }
}

impl std::fmt::Display for Waist {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::str::FromStr for Waist {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("nm", 1e-9), ("um", 1e-6), ("µm", 1e-6), ("mm", 1e-3), ("m", 1.0)];
        let of_unit = |(unit, metres): (&str, f64)| {
            let number = text.strip_suffix(unit)?.trim().parse::<f64>().ok()?;
            Some(number * metres).filter(|metres| *metres > 0.0 && metres.is_finite())
        };
        let metres = units.into_iter().find_map(of_unit);
        let metres =
            metres.ok_or_else(|| format!("`{text}` is no length; write 250nm or 0.25um"))?;
        Ok(Self { text: text.to_owned(), metres })
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

impl std::str::FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            format!("`{text}` is no value of a parameter; write NAME=V, as tau=2.3ns")
        })?;
        Ok(Self { name: name.trim().to_owned(), value: value.trim().to_owned() })
    }
}

fn emission<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    options::choice(deserializer, &EMISSIONS.map(|named| (named[0], named)))
        .map(str::to_owned)
        .map(Some)
}

fn pile_up<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    options::choice(deserializer, &PILE_UP.map(|named| (named[0], named)))
        .map(str::to_owned)
        .map(Some)
}

fn intervals<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    options::choice(deserializer, &INTERVALS.map(|named| (named[0], named)))
        .map(str::to_owned)
        .map(Some)
}

fn shape<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    options::choice(deserializer, &SHAPES.map(|named| (named[0], named)))
        .map(str::to_owned)
        .map(Some)
}

impl Fit {
    /// Creates the fit of the model with this name.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] for an unknown model, or an option that it does not have; [`tagq_run::RequestError`] for invalid values.
    pub fn of_options(model: &str, given: OptionValues) -> Result<Self, Error> {
        let of = FitType::named(model).ok_or_else(|| RequestError::Unknown {
            name: model.into(),
            known: FIT_TYPES.map(|of| of.name).into(),
        })?;
        options::check(of.name, || of.options(), &given)?;
        let options: FitOptions = options::deserialize(given)?;
        if options.components.is_some_and(|number| !(1..=2).contains(&number)) {
            return Err(
                RequestError::options(&["components"], "`components` is 1 or 2".into()).into()
            );
        }
        for (all, option) in [(&options.fix, "fix"), (&options.guess, "guess")] {
            let is_again =
                |(at, of): (usize, &Setting)| all[..at].iter().any(|other| other.name == of.name);
            if all.iter().enumerate().any(is_again) {
                return Err(RequestError::options(
                    &[option],
                    format!("`{option}` has one parameter twice"),
                )
                .into());
            }
        }
        let fit = Self { of, options };
        fit.response()?;
        Ok(fit)
    }

    /// Returns where the response of the instrument is.
    pub(super) fn response(&self) -> Result<Option<ResponseSource<'_>>, Error> {
        Ok(ResponseSource::of(self.options.irf.as_ref(), self.options.irf_channel.as_ref())?)
    }

    /// Returns its options as a user would state them.
    pub fn stated(&self) -> Result<OptionValues, Error> {
        match serde_json::to_value(&self.options)? {
            Value::Object(options) => Ok(options),
            _ => Ok(OptionValues::new()),
        }
    }

    /// Returns the ends of the fitted range.
    pub(super) fn between(&self, axis: Axis) -> Result<Option<(f64, f64)>, Error> {
        let Some(Between(low, high)) = &self.options.between else { return Ok(None) };
        let (from, to) = (axis.place(low)?, axis.place(high)?);
        if from >= to {
            return Err(RequestError::options(
                &["between"],
                format!("`between`: {high} is not after {low}"),
            )
            .into());
        }
        Ok(Some((from, to)))
    }

    /// Returns the fixed values and the starting values.
    pub(super) fn settings(
        &self,
        model: &dyn Model,
        data: &tagq_fit::Data,
        axis: Axis,
    ) -> Result<Settings, Error> {
        let parameters = model.parameters(data);
        let number = |setting: &Setting| {
            let quantity =
                parameters.iter().find(|of| of.name == setting.name).map(|of| of.quantity);
            let value = match quantity {
                Some(tagq_fit::Quantity::Place) => axis.place(&setting.value)?,
                _ => setting.value.parse().map_err(|_| {
                    RequestError::options(
                        &["fix", "guess"],
                        format!("{setting}: `{}` is no number", setting.value),
                    )
                })?,
            };
            Ok((setting.name.clone(), value))
        };
        let all = |settings: &[Setting]| settings.iter().map(number).collect::<Result<_, Error>>();
        let (mut fixed, start): (Vec<_>, Vec<_>) =
            (all(&self.options.fix)?, all(&self.options.guess)?);
        let held: &[(&str, f64)] = match self.of.name {
            // One side does not determine where the middle is.
            "g2" if data.bins[0].middle() >= 0.0 => &[("centre", 0.0)],
            "fcs" => &[("kappa", KAPPA), ("offset", 0.0)],
            _ => &[],
        };
        for &(held, value) in held {
            if !fixed.iter().chain(&start).any(|(name, _)| name == held) {
                fixed.push((held.into(), value));
            }
        }
        let intervals = match self.options.intervals.as_deref() {
            Some("profile") => Intervals::All,
            _ => Intervals::Needed,
        };
        Ok(Settings { fixed, start, intervals, ..Settings::default() })
    }

    /// Returns the number of exponentials, which is to be found if none is given.
    pub(super) fn exponentials(&self) -> Exponentials {
        self.options.exponentials.unwrap_or(Exponentials::Number(1))
    }

    /// Returns the model of these data. Periods and jitters are on the axis.
    pub(super) fn model(
        &self,
        data: &tagq_fit::Data,
        axis: Axis,
        exponentials: usize,
        instrument: &Instrument,
    ) -> Result<Box<dyn Model>, Error> {
        let options = &self.options;
        Ok(match self.of.name {
            "decay" => {
                let period = instrument.period;
                Box::new(match &instrument.response {
                    Some(ResponseOf::Auto) => Decay::with_gaussian(exponentials, period)?,
                    Some(ResponseOf::Measured(response)) => {
                        Decay::new(exponentials, Some((**response).clone()), period)?
                    }
                    // The response is left out.
                    None | Some(ResponseOf::Tail) => Decay::new(exponentials, None, period)?,
                })
            }
            "g2" => {
                let jitter =
                    options.jitter.as_ref().map(|jitter| axis.length(jitter)).transpose()?;
                if jitter.is_some_and(|jitter| jitter < 0.0) {
                    return Err(RequestError::options(
                        &["jitter"],
                        "`jitter` is a standard deviation, zero or more".into(),
                    )
                    .into());
                }
                let emission = match options.emission.as_deref() {
                    Some("three-level") => Emission::ThreeLevel,
                    Some("bunching") => Emission::Bunching,
                    _ => Emission::TwoLevel,
                };
                Box::new(Correlation { emission, jitter: jitter.unwrap_or(0.0) })
            }
            "fcs" => Box::new(Diffusion {
                components: options.components.unwrap_or(1) as usize,
                has_triplet: options.triplet,
                waist: options.waist.as_ref().map(|waist| waist.metres),
            }),
            "dip" => Box::new(Dip(match options.shape.as_deref() {
                Some("triangle") => DipShape::Triangle,
                _ => DipShape::Gaussian,
            })),
            "sin" => Box::new(Sine),
            _ => Box::new(Peak::of(data)),
        })
    }
}
