//! Dates and times as text: dates with `zero_dates="text"`, TIME with `time="text"`.

use super::temporal::{datetime_old, time_old, time2, timestamp_old};
use super::var_len::VarLenCell;
use crate::value::temporal::{DateTime, date, datetime, time, timestamp};
use crate::wire::{Reader, Result};

pub(super) struct DateText;

impl VarLenCell for DateText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        date::decode(image.array("DATE")?).write_text(out);
        Ok(())
    }
}

pub(super) struct DateTimeText {
    pub(super) fsp: u8,
}

impl VarLenCell for DateTimeText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let bytes = image.take(datetime::byte_count(self.fsp), "DATETIME")?;
        datetime::decode2(bytes, self.fsp)?.write_text(self.fsp, out);
        Ok(())
    }
}

pub(super) struct DateTimeOldText {
    pub(super) fsp: u8,
}

impl VarLenCell for DateTimeOldText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        datetime_old(image, self.fsp)?.write_text(self.fsp, out);
        Ok(())
    }
}

/// A TIMESTAMP as text, in UTC.
pub(super) struct TimestampText {
    pub(super) fsp: u8,
}

impl VarLenCell for TimestampText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let bytes = image.take(timestamp::byte_count(self.fsp), "TIMESTAMP")?;
        DateTime::from_timestamp(timestamp::decode2(bytes, self.fsp)?).write_text(self.fsp, out);
        Ok(())
    }
}

/// A TIMESTAMP of an old form as text, in UTC.
pub(super) struct TimestampOldText {
    pub(super) fsp: u8,
}

impl VarLenCell for TimestampOldText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let micros = timestamp_old(image, self.fsp)?;
        DateTime::from_timestamp(micros).write_text(self.fsp, out);
        Ok(())
    }
}

pub(super) struct TimeText {
    pub(super) fsp: u8,
}

impl VarLenCell for TimeText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        time::write_text(time2(image, self.fsp)?, self.fsp, out);
        Ok(())
    }
}

pub(super) struct TimeOldText {
    pub(super) fsp: u8,
}

impl VarLenCell for TimeOldText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        time::write_text(time_old(image, self.fsp)?, self.fsp, out);
        Ok(())
    }
}
