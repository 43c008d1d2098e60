//! Numbers in an answer that the validator would misjudge, since it compares doubles.

use serde_json::{Number, Value};
use std::collections::HashMap;

/// Lists the numbers in `answer` that the validator cannot judge correctly, each with its place: numbers beyond the
/// range of a double, numbers that equal another number of `schema` or an integer only as doubles, and numbers that are
/// multiples only in double division.
pub fn undecidable(answer: &Value, schema: &Value) -> Vec<String> {
    let mut compared = Compared::default();
    let _ = walk(schema, &mut String::new(), &mut |_, name, number| {
        if let (Some(double), Some(decimal)) = (number.as_f64(), Decimal::of(number)) {
            if name == "multipleOf" {
                compared.multiples.push((double, decimal.clone()));
            }
            compared.numbers.entry(key(double)).or_default().push(decimal);
        }
        Ok(())
    });
    let mut faults = Vec::new();
    let _ = walk(answer, &mut String::new(), &mut |place, _, number| {
        if let Some(why) = compared.doubt(number) {
            let place = if place.is_empty() { "the value" } else { place };
            faults.push(format!("{place}: {why}"));
        }
        Ok(())
    });
    faults
}

/// Rejects a schema with a number that cannot be compared exactly.
///
/// # Errors
/// Names the first such number, with its place and the reason.
pub fn comparable(schema: &Value) -> Result<(), String> {
    walk(
        schema,
        &mut String::new(),
        &mut |place, _, number| match Compared::default().doubt(number) {
            Some(why) => Err(format!("{place}: {why}")),
            None => Ok(()),
        },
    )
}

/// Returns whether `number` is a multiple of `unit` in decimal arithmetic: in doubles, 19.99 is not a multiple of 0.01.
pub fn is_multiple(number: &Number, unit: &Number) -> bool {
    matches!((Decimal::of(number), Decimal::of(unit)), (Some(number), Some(unit)) if number.is_multiple_of(&unit))
}

/// The numbers of a schema.
#[derive(Default)]
struct Compared {
    /// Keyed by the bits of their double.
    numbers: HashMap<u64, Vec<Decimal>>,
    multiples: Vec<(f64, Decimal)>,
}

impl Compared {
    /// Returns why the validator cannot judge this number, if it cannot.
    fn doubt(&self, number: &Number) -> Option<&'static str> {
        let (Some(double), Some(decimal)) = (number.as_f64(), Decimal::of(number)) else {
            return Some("the number is beyond what can be checked (at most about 1.8e308)");
        };
        let is_other = |others: &Vec<Decimal>| others.iter().any(|other| *other != decimal);
        if double.fract() == 0.0 && !decimal.is_integer() || self.numbers.get(&key(double)).is_some_and(is_other) {
            return Some("the number has more digits than can be checked (about 16)");
        }
        let is_mistaken =
            |(unit, exact): &(f64, Decimal)| (double / unit).fract() == 0.0 && !decimal.is_multiple_of(exact);
        self.multiples
            .iter()
            .any(is_mistaken)
            .then_some("the number is too large for its divisor in the schema to be checked")
    }
}

/// Maps both zeros to the same key.
fn key(double: f64) -> u64 {
    if double == 0.0 { 0 } else { double.to_bits() }
}

/// Calls `on` for each number, with its JSON Pointer and the name of the property that contains it.
fn walk(
    value: &Value,
    place: &mut String,
    on: &mut dyn FnMut(&str, &str, &Number) -> Result<(), String>,
) -> Result<(), String> {
    let length = place.len();
    match value {
        Value::Number(number) => {
            let name = place.rsplit('/').next().unwrap_or_default();
            on(place, name, number)?;
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                place.push_str(&format!("/{index}"));
                walk(item, place, on)?;
                place.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                place.push('/');
                place.push_str(&name.replace('~', "~0").replace('/', "~1"));
                walk(field, place, on)?;
                place.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
    Ok(())
}

/// An exact decimal number: `digits` × 10^`exponent`, without leading or trailing zeros in the digits. Zero has no
/// digits.
#[derive(Clone, PartialEq, Debug)]
struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Returns `None` if the exponent does not fit into 64 bits.
    fn of(number: &Number) -> Option<Decimal> {
        let text = number.as_str();
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let unsigned = whole.trim_start_matches('-');
        let digits = format!("{unsigned}{fraction}");
        let significant = digits.trim_end_matches('0');
        let zeros = digits.len() - significant.len();
        let digits = significant.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            let exponent = 0;
            return Some(Decimal {
                is_negative: false,
                digits,
                exponent,
            });
        }
        let shift = i64::try_from(zeros)
            .ok()?
            .checked_sub(i64::try_from(fraction.len()).ok()?)?;
        Some(Decimal {
            is_negative: unsigned.len() < whole.len(),
            digits,
            exponent: exponent.parse::<i64>().ok()?.checked_add(shift)?,
        })
    }

    fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// Returns false for a unit with more than 37 digits, since that cannot be computed.
    fn is_multiple_of(&self, unit: &Decimal) -> bool {
        if self.digits.is_empty() {
            return true;
        }
        let unit_digits = unit
            .digits
            .parse::<u128>()
            .ok()
            .filter(|&unit| unit > 0 && unit < u128::MAX / 10);
        // The unit's power of ten must divide the number.
        let zeros = self
            .exponent
            .checked_sub(unit.exponent)
            .and_then(|zeros| usize::try_from(zeros).ok());
        let (Some(unit_digits), Some(zeros)) = (unit_digits, zeros) else {
            return false;
        };
        let digits = self.digits.bytes().map(|digit| u128::from(digit - b'0'));
        let digits = digits.chain(std::iter::repeat_n(0, zeros));
        digits.fold(0, |rest, digit| (rest * 10 + digit) % unit_digits) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn decimal(text: &str) -> Decimal {
        Decimal::of(&serde_json::from_str(text).unwrap()).unwrap()
    }

    #[test]
    fn one_number_is_one_decimal_however_it_is_written() {
        for (one, other) in [
            ("100", "1e2"),
            ("0.010", "10E-3"),
            ("-0", "0.0e5"),
            ("-12.50", "-125e-1"),
            ("1e400", "10e+399"),
        ] {
            assert_eq!(decimal(one), decimal(other));
        }
        for (one, other) in [
            ("9007199254740992", "9007199254740993"),
            ("1", "-1"),
            ("1e-400", "0"),
            ("0.1", "0.1000000000000000055511151231257827"),
        ] {
            assert_ne!(decimal(one), decimal(other));
        }
    }

    #[test]
    fn multiples_are_told_digit_by_digit() {
        for (number, unit, is_multiple) in [
            ("19.99", "0.01", true),
            ("19.995", "0.01", false),
            ("1e30", "7", false),
            ("7e30", "7", true),
            ("-21", "7", true),
            ("0", "7", true),
            ("150", "1e2", false),
            ("300", "1e2", true),
        ] {
            assert_eq!(
                decimal(number).is_multiple_of(&decimal(unit)),
                is_multiple,
                "{number} {unit}"
            );
        }
    }
}
