//! Values that are written as text: dates under `zero_dates="text"`, TIME under `time="text"`, wide DECIMAL for Spark.

use super::ColumnBuilder;
use super::temporal::{datetime_old, time_old, time2, timestamp_old};
use super::var_bytes::VarBytes;
use crate::error::Error;
use crate::value::temporal::{DateTime, date, datetime, time, timestamp};
use crate::wire::{Reader, Result};
use arrow_array::ArrayRef;
use arrow_schema::DataType;

/// A cell that is written out as ASCII text.
pub(super) trait TextCell: Send + 'static {
    /// Reads a cell and appends its text.
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()>;
}

pub(super) fn boxed<C: TextCell>(cell: C) -> Box<dyn ColumnBuilder> {
    Box::new(Written { cell, values: VarBytes::default() })
}

struct Written<C> {
    cell: C,
    values: VarBytes,
}

impl<C: TextCell> ColumnBuilder for Written<C> {
    fn data_type(&self) -> DataType {
        DataType::Utf8
    }

    fn append(&mut self, image: &mut Reader<'_>) -> Result<()> {
        let Self { cell, values } = self;
        values.append_with(|out| cell.read(image, out))
    }

    fn begin(&mut self) {
        self.values.begin();
    }

    fn append_null(&mut self) {
        self.values.append_null();
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, Error> {
        self.values.finish_text()
    }
}

pub(super) struct DateText;

impl TextCell for DateText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        date::decode(image.array("DATE")?).write_text(out);
        Ok(())
    }
}

pub(super) struct DateTimeText {
    pub(super) fsp: u8,
}

impl TextCell for DateTimeText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let bytes = image.take(datetime::byte_count(self.fsp), "DATETIME")?;
        datetime::decode2(bytes, self.fsp)?.write_text(self.fsp, out);
        Ok(())
    }
}

pub(super) struct DateTimeOldText {
    pub(super) fsp: u8,
}

impl TextCell for DateTimeOldText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        datetime_old(image, self.fsp)?.write_text(self.fsp, out);
        Ok(())
    }
}

/// In UTC.
pub(super) struct TimestampText {
    pub(super) fsp: u8,
}

impl TextCell for TimestampText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let bytes = image.take(timestamp::byte_count(self.fsp), "TIMESTAMP")?;
        DateTime::from_timestamp(timestamp::decode2(bytes, self.fsp)?).write_text(self.fsp, out);
        Ok(())
    }
}

/// In UTC.
pub(super) struct TimestampOldText {
    pub(super) fsp: u8,
}

impl TextCell for TimestampOldText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let micros = timestamp_old(image, self.fsp)?;
        DateTime::from_timestamp(micros).write_text(self.fsp, out);
        Ok(())
    }
}

pub(super) struct TimeText {
    pub(super) fsp: u8,
}

impl TextCell for TimeText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        time::write_text(time2(image, self.fsp)?, self.fsp, out);
        Ok(())
    }
}

pub(super) struct TimeOldText {
    pub(super) fsp: u8,
}

impl TextCell for TimeOldText {
    fn read(&mut self, image: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
        time::write_text(time_old(image, self.fsp)?, self.fsp, out);
        Ok(())
    }
}
