//! DATE (and NEWDATE): a calendar date in 3 bytes, little-endian.
//!
//! ```text
//! 2026-11-21      75 d5 0f = 0x0fd575
//!                 year << 9 | month << 5 | day
//! ```
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/datetime.html>

use super::digits;

/// The number of bytes of a stored DATE.
pub const BYTES: usize = 3;

/// The largest year that MySQL stores.
pub const MAX_YEAR: u16 = 9999;

/// A date in its stored form: each part may be 0, and the day may be one that its month does not
/// have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// 0 to 9999 in dates that a server writes.
    pub year: u16,
    /// 1 to 12, or 0 in zero and partial dates.
    pub month: u8,
    /// 1 to 31, or 0 in zero and partial dates.
    pub day: u8,
}

/// Unpacks a stored DATE. Any three bytes are accepted; [`Date::days_since_epoch`] returns `None`
/// for a date that does not exist.
#[inline]
pub const fn decode(bytes: [u8; BYTES]) -> Date {
    let [low, middle, high] = bytes;
    let packed = u32::from_le_bytes([low, middle, high, 0]);
    Date { year: (packed >> 9) as u16, month: (packed >> 5 & 15) as u8, day: (packed & 31) as u8 }
}

/// Days since 1970-01-01 of a date in one of the usual years. `None` if it does not exist, and for other years. `year_month`: the
/// year times 13, plus the month.
#[inline]
pub(crate) fn usual_days(year_month: u32, day: u32) -> Option<i32> {
    let month = USUAL_MONTHS.get(year_month.wrapping_sub(USUAL_YEARS.0 * 13) as usize)?;
    // Day 0 wraps to a number that is larger than the days of any month.
    (day.wrapping_sub(1) < u32::from(month.days)).then_some(month.day_before + day as i32)
}

#[derive(Clone, Copy)]
struct Month {
    /// Days since 1970-01-01 of the day before the first one.
    day_before: i32,
    /// The number of its days; 0 for the month 0.
    days: u8,
}

/// The months 0 to 12 of the usual years.
static USUAL_MONTHS: [Month; ((USUAL_YEARS.1 - USUAL_YEARS.0) * 13) as usize] = {
    const NONE: Month = Month { day_before: 0, days: 0 };
    let mut months = [NONE; ((USUAL_YEARS.1 - USUAL_YEARS.0) * 13) as usize];
    let (mut rest, mut year_month) = (months.as_mut_slice(), USUAL_YEARS.0 * 13);
    while let [month, others @ ..] = rest {
        let date = Date { year: (year_month / 13) as u16, month: (year_month % 13) as u8, day: 1 };
        if let Some(first) = date.days_since_epoch() {
            *month = Month { day_before: first - 1, days: month_days(date.year, date.month) };
        }
        (rest, year_month) = (others, year_month + 1);
    }
    months
};

/// The years of most dates in logs: from the first number up to the second, which is not included.
const USUAL_YEARS: (u32, u32) = (1970, 2100);

impl Date {
    /// [`usual_days`] of this date.
    #[inline]
    pub(crate) fn usual_days(self) -> Option<i32> {
        let year_month = u32::from(self.year) * 13 + u32::from(self.month);
        (self.month <= 12).then(|| usual_days(year_month, u32::from(self.day))).flatten()
    }

    /// Days since 1970-01-01 in the proleptic Gregorian calendar, in which 0000-01-01 is a valid
    /// date. `None` for zero, partial and impossible dates.
    #[inline]
    pub const fn days_since_epoch(self) -> Option<i32> {
        let Self { year, month, day } = self;
        if year > MAX_YEAR || month == 0 || month > 12 || day == 0 || day > month_days(year, month)
        {
            return None;
        }
        // Years in this calculation begin in March, so that the leap day is the last day of a year;
        // adding 400 years keeps the number positive.
        let january_february = (month <= 2) as u32;
        let year = year as u32 + 400 - january_february;
        let month = month as u32 + 12 * january_february - 3;
        let days =
            year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day as u32;
        Some(days as i32 - EPOCH)
    }

    /// Returns the date that is `days` after 1970-01-01: the inverse of [`Self::days_since_epoch`]
    /// for the years 0 to 9999.
    pub const fn from_days_since_epoch(days: i32) -> Self {
        // Days are counted from 0000-03-01 plus 400 years, so that the number is positive and a
        // leap day is the last day of its year.
        let days = (days + 719_468 + 146_097) as u32;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let january_february = (month >= 10) as u32;
        Self {
            year: (era * 400 + year_of_era + january_february - 400) as u16,
            month: (month + 3 - 12 * january_february) as u8,
            day: day as u8,
        }
    }

    /// Appends the date as MySQL prints it, including zero and partial dates.
    pub fn write_text(self, out: &mut Vec<u8>) {
        digits::push_padded(out, u64::from(self.year), 4);
        out.push(b'-');
        digits::push_padded(out, u64::from(self.month), 2);
        out.push(b'-');
        digits::push_padded(out, u64::from(self.day), 2);
    }
}

/// The number of days of a month from 1 to 12.
#[inline]
const fn month_days(year: u16, month: u8) -> u8 {
    if month != 2 {
        // 31 in the odd months up to July and in the even months from August.
        30 | (month ^ month >> 3) & 1
    } else if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) {
        29
    } else {
        28
    }
}

/// The result of the sum above for 1970-01-01: year 2369 in the count from March, month 10, day 1.
const EPOCH: i32 = 2369 * 365 + 2369 / 4 - 2369 / 100 + 2369 / 400 + (10 * 153 + 2) / 5 + 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn date(year: u16, month: u8, day: u8) -> Date {
        Date { year, month, day }
    }

    #[test]
    fn vectors() {
        for (bytes, expected, text) in [
            ([0x75, 0xd5, 0x0f], date(2026, 11, 21), "2026-11-21"),
            ([0x15, 0xbe, 0x0f], date(2015, 0, 21), "2015-00-21"),
            ([0, 0, 0], date(0, 0, 0), "0000-00-00"),
        ] {
            assert_eq!(decode(bytes), expected);
            let mut out = Vec::new();
            expected.write_text(&mut out);
            assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn days() {
        for (days, date) in [
            (0, date(1970, 1, 1)),
            (-1, date(1969, 12, 31)),
            (-719_528, date(0, 1, 1)),
            (-719_469, date(0, 2, 29)),
            (11_016, date(2000, 2, 29)),
            (2_932_896, date(9999, 12, 31)),
        ] {
            assert_eq!(date.days_since_epoch(), Some(days));
        }
        for (year, month, day) in [
            (0, 0, 0),
            (2015, 0, 21),
            (2015, 5, 0),
            (2015, 2, 31),
            (1900, 2, 29),
            (2015, 4, 31),
            (2015, 13, 1),
            (10_000, 1, 1),
            (u16::MAX, 15, 31),
        ] {
            assert_eq!(date(year, month, day).days_since_epoch(), None);
        }
    }

    #[test]
    fn usual_years() {
        let (mut found, mut others) = (0, 0);
        for year in (0..=MAX_YEAR).chain([u16::MAX]) {
            for month in 0..13 {
                for day in 0..64 {
                    let days = usual_days(u32::from(year) * 13 + u32::from(month), u32::from(day));
                    match (1970..2100).contains(&year) {
                        true => assert_eq!(days, date(year, month, day).days_since_epoch()),
                        false => assert_eq!(days, None),
                    }
                    found += u32::from(days.is_some());
                    others += u32::from(days.is_none());
                }
            }
        }
        assert_eq!((found, others > found), (47_482, true));
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut expected = date(0, 1, 1).days_since_epoch().unwrap();
        for year in 0..=MAX_YEAR {
            for month in 0..16 {
                for day in 0..32 {
                    if let Some(days) = date(year, month, day).days_since_epoch() {
                        assert_eq!(Date::from_days_since_epoch(days), date(year, month, day));
                        assert_eq!(days, expected);
                        expected += 1;
                    }
                }
            }
        }
        assert_eq!(expected, 2_932_897);
    }
}
