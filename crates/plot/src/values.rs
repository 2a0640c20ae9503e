//! The column of an answer that a figure draws.
//!
//! `rate` means the column `rate_hz`: a name, or the part of a name before an underscore. Only columns with errors
//! can be drawn.

use tagq::{CellType, Column, Table, Unit};

use crate::{Error, quantity::Quantity};

/// A column of values, and that of their errors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Values {
    pub key: String,
    pub errors: String,
    /// The label of their axis, without unit.
    pub label: String,
    pub quantity: Quantity,
    /// The value by chance.
    pub reference: Option<f64>,
}

impl Values {
    pub(crate) fn of(key: &str, label: &str, quantity: Quantity) -> Self {
        let reference = (quantity == Quantity::Ratio).then_some(1.0);
        Self {
            key: key.into(),
            errors: format!("{key}_err"),
            label: label.into(),
            quantity,
            reference,
        }
    }

    pub(crate) fn rate(label: &str) -> Self {
        Self { errors: "rate_err_hz".into(), ..Self::of("rate_hz", label, Quantity::Rate) }
    }

    /// Returns whether the values are ratios.
    pub(crate) fn is_ratio(&self) -> bool {
        self.quantity == Quantity::Ratio
    }

    /// Returns the first column with errors whose name is `name`, or begins with it and an underscore.
    ///
    /// # Errors
    /// [`Error::NoQuantity`].
    pub(crate) fn named(rows: &Table, name: &str) -> Result<Self, Error> {
        let wanted = name.to_ascii_lowercase();
        let all =
            || rows.columns().iter().filter(|column| column.shown.err.is_some() && !column.is_list);
        let begins = |column: &&Column| {
            column.key.strip_prefix(&*wanted).is_some_and(|rest| rest.starts_with('_'))
        };
        let found = all().find(|column| column.key == *wanted).or_else(|| all().find(begins));
        let Some(column) = found else {
            let all: Vec<&str> = all().map(|column| &*column.key).collect();
            return Err(Error::NoQuantity { name: name.into(), all: all.join(", ") });
        };
        let quantity = match (column.of, column.shown.unit) {
            (CellType::Count, _) => Quantity::Count,
            (_, Unit::Hertz) => Quantity::Rate,
            (_, Unit::Seconds | Unit::BriefSeconds) => Quantity::Time,
            _ if column.key == "accidentals" => Quantity::Count,
            _ => Quantity::Ratio,
        };
        let is_by_chance = quantity == Quantity::Ratio && column.shown.unit != Unit::Percent;
        Ok(Self {
            key: column.key.clone().into_owned(),
            errors: column.shown.err.clone().unwrap_or_default().into_owned(),
            label: column.shown.heading.clone().into_owned(),
            quantity,
            reference: is_by_chance.then_some(1.0),
        })
    }
}
