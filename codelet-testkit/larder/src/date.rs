//! Days without a time zone: a best-before date is a day, not a moment.

use std::fmt;
use std::str::FromStr;

/// A day of the Gregorian calendar.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Day {
    year: i32,
    month: u8,
    day: u8,
}

/// Why a text is no day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DayError {
    /// Not of the form 2031-04-05.
    Form(String),
    /// There is no such month or day.
    Range { year: i32, month: u8, day: u8 },
}

impl Day {
    /// A day, if it exists.
    pub fn new(year: i32, month: u8, day: u8) -> Result<Self, DayError> {
        if month == 0 || month > 12 || day == 0 || day > days_in_month(year, month) {
            return Err(DayError::Range { year, month, day });
        }
        Ok(Day { year, month, day })
    }

    /// Days since 1 March of the year 0; the difference of two days is a number of days.
    pub fn number(self) -> i64 {
        let (year, month) = (i64::from(self.year), i64::from(self.month));
        let year = if month <= 2 { year - 1 } else { year };
        let era = year.div_euclid(400);
        let of_era = year - era * 400;
        let of_year = (153 * ((month + 9) % 12) + 2) / 5 + i64::from(self.day) - 1;
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year
    }

    /// How many days from `self` to `other`; negative if `other` is earlier.
    pub fn until(self, other: Day) -> i64 {
        other.number() - self.number()
    }

    /// The day this many days later.
    pub fn plus(self, days: i64) -> Day {
        let mut day = self;
        for _ in 0..days {
            day = day.next();
        }
        day
    }

    fn next(self) -> Day {
        if self.day < days_in_month(self.year, self.month) {
            Day { day: self.day + 1, ..self }
        } else if self.month < 12 {
            Day { month: self.month + 1, day: 1, ..self }
        } else {
            Day { year: self.year + 1, month: 1, day: 1 }
        }
    }
}

fn days_in_month(year: i32, month: u8) -> u8 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: i32) -> bool {
    year % 4 == 0
}

impl FromStr for Day {
    type Err = DayError;

    fn from_str(text: &str) -> Result<Self, DayError> {
        let form = || DayError::Form(text.to_owned());
        let mut fields = text.splitn(3, '-');
        let mut field = || fields.next().ok_or_else(form);
        let year = field()?.parse().map_err(|_| form())?;
        let month = field()?.parse().map_err(|_| form())?;
        let day = field()?.parse().map_err(|_| form())?;
        Day::new(year, month, day)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_century_is_a_leap_year_only_every_fourth_time() {
        assert!(Day::new(2000, 2, 29).is_ok());
        assert!(Day::new(1900, 2, 29).is_err());
    }

    #[test]
    fn days_are_counted_over_the_end_of_a_year() {
        let eve = Day::new(2030, 12, 31).unwrap();
        assert_eq!(eve.until(Day::new(2031, 1, 2).unwrap()), 2);
        assert_eq!(eve.plus(2).to_string(), "2031-01-02");
    }
}
