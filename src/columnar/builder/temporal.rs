//! DATE, DATETIME, TIMESTAMP and TIME as Arrow's dates, timestamps, durations.
//!
//! Zero, partial and impossible dates cannot be Arrow dates: they become NULL, or an error if the
//! caller requests this.

use super::primitive::Cell;
use crate::error::DecodeError;
use crate::value::temporal::{date, datetime, mariadb53, old, time, timestamp};
use crate::wire::{Reader, Result};
use arrow_array::types::{
    Date32Type, DurationMicrosecondType, Int64Type, TimestampMicrosecondType,
};
use arrow_schema::{DataType, TimeUnit};

/// Returns NULL for an invalid date, or the error if the caller requests it.
#[inline]
fn or_zero<T>(value: Option<T>, zero_is_error: bool) -> Result<Option<T>> {
    match value {
        None if zero_is_error => Err(DecodeError::Invalid {
            what: "a zero or partial date (⟦zero_dates=error⟧)",
            value: 0,
        }),
        value => Ok(value),
    }
}

fn utc() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

pub(super) struct Date {
    pub(super) zero_is_error: bool,
}

impl Cell for Date {
    type Arrow = Date32Type;

    #[inline(always)] // in the loop over cells
    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i32>> {
        let date = date::decode(image.array("DATE")?);
        match date.usual_days() {
            Some(days) => Ok(Some(days)),
            None => self.read_any(date),
        }
    }
}

impl Date {
    /// Returns the days of a date that is not in one of the usual years, or is not a date of the calendar.
    #[inline(never)]
    fn read_any(&self, date: date::Date) -> Result<Option<i32>> {
        or_zero(date.days_since_epoch(), self.zero_is_error)
    }
}

pub(super) struct DateTime {
    pub(super) fsp: u8,
    pub(super) zero_is_error: bool,
}

impl Cell for DateTime {
    type Arrow = TimestampMicrosecondType;

    #[inline(always)] // in the loop over cells
    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i64>> {
        let bytes = image.take(datetime::byte_count(self.fsp), "DATETIME")?;
        match datetime::usual_micros(bytes) {
            Some(micros) => Ok(Some(micros)),
            None => self.read_any(bytes),
        }
    }
}

impl DateTime {
    /// Reads a date that is not in one of the usual years, is not a date of the calendar, or is invalid.
    #[inline(never)]
    fn read_any(&self, bytes: &[u8]) -> Result<Option<i64>> {
        or_zero(datetime::decode2(bytes, self.fsp)?.micros_since_epoch(), self.zero_is_error)
    }
}

pub(super) struct Timestamp {
    pub(super) fsp: u8,
    pub(super) zero_is_error: bool,
}

impl Cell for Timestamp {
    type Arrow = TimestampMicrosecondType;

    fn data_type(&self) -> DataType {
        utc()
    }

    #[inline]
    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i64>> {
        let bytes = image.take(timestamp::byte_count(self.fsp), "TIMESTAMP")?;
        or_zero(timestamp::decode2(bytes, self.fsp)?, self.zero_is_error)
    }
}

pub(super) struct DateTimeOld {
    pub(super) fsp: u8,
    pub(super) zero_is_error: bool,
}

impl Cell for DateTimeOld {
    type Arrow = TimestampMicrosecondType;

    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i64>> {
        or_zero(datetime_old(image, self.fsp)?.micros_since_epoch(), self.zero_is_error)
    }
}

pub(super) struct TimestampOld {
    pub(super) fsp: u8,
    pub(super) zero_is_error: bool,
}

impl Cell for TimestampOld {
    type Arrow = TimestampMicrosecondType;

    fn data_type(&self) -> DataType {
        utc()
    }

    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i64>> {
        or_zero(timestamp_old(image, self.fsp)?, self.zero_is_error)
    }
}

pub(super) struct TimeDuration {
    pub(super) fsp: u8,
}

impl Cell for TimeDuration {
    type Arrow = DurationMicrosecondType;

    #[inline]
    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i64>> {
        time2(image, self.fsp).map(Some)
    }
}

pub(super) struct TimeMicros {
    pub(super) fsp: u8,
}

impl Cell for TimeMicros {
    type Arrow = Int64Type;

    #[inline]
    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i64>> {
        time2(image, self.fsp).map(Some)
    }
}

pub(super) struct TimeOldDuration {
    pub(super) fsp: u8,
}

impl Cell for TimeOldDuration {
    type Arrow = DurationMicrosecondType;

    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i64>> {
        time_old(image, self.fsp).map(Some)
    }
}

pub(super) struct TimeOldMicros {
    pub(super) fsp: u8,
}

impl Cell for TimeOldMicros {
    type Arrow = Int64Type;

    fn read(&self, image: &mut Reader<'_>) -> Result<Option<i64>> {
        time_old(image, self.fsp).map(Some)
    }
}

/// Reads a TIME as microseconds.
#[inline]
pub(super) fn time2(image: &mut Reader<'_>, fsp: u8) -> Result<i64> {
    time::decode2(image.take(time::byte_count(fsp), "TIME")?, fsp)
}

/// Reads a TIME in an old form as microseconds.
pub(super) fn time_old(image: &mut Reader<'_>, fsp: u8) -> Result<i64> {
    match fsp {
        0 => old::time(image.take(old::TIME_BYTES, "TIME")?),
        _ => mariadb53::time(image.take(mariadb53::time_bytes(fsp), "TIME")?, fsp),
    }
}

/// Reads a DATETIME in an old form.
pub(super) fn datetime_old(image: &mut Reader<'_>, fsp: u8) -> Result<datetime::DateTime> {
    match fsp {
        0 => old::datetime(image.take(old::DATETIME_BYTES, "DATETIME")?),
        _ => mariadb53::datetime(image.take(mariadb53::datetime_bytes(fsp), "DATETIME")?, fsp),
    }
}

/// Reads a TIMESTAMP in an old form as microseconds; `None` is the zero date.
pub(super) fn timestamp_old(image: &mut Reader<'_>, fsp: u8) -> Result<Option<i64>> {
    match fsp {
        0 => old::timestamp(image.take(old::TIMESTAMP_BYTES, "TIMESTAMP")?),
        _ => mariadb53::timestamp(image.take(mariadb53::timestamp_bytes(fsp), "TIMESTAMP")?, fsp),
    }
}
