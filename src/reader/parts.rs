//! The parts of an input in log order: segments of the log, and rows that are decoded elsewhere.

use super::segment_decoder::Output;
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::source::{Segment, Segments, SpentSegment};
use crossbeam_channel::Receiver;

/// A part of the input.
#[derive(Debug)]
pub enum Part {
    /// A segment to decode.
    Segment(Box<Segment>),
    /// The outputs of another thread, until it drops the sender.
    Decoded(Receiver<Result<Output>>),
}

/// The parts of an input, in the order in which their rows are returned.
pub trait Parts: Send {
    /// The next part; `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    fn next_part(&mut self) -> Result<Option<Part>>;

    /// Takes the memory of a decoded segment back, to be used again.
    fn recycle(&mut self, spent: SpentSegment);

    /// Sets the token that cancels the reading of inputs.
    fn cancel_with(&mut self, cancel: &CancelToken);
}

impl Parts for Segments {
    fn next_part(&mut self) -> Result<Option<Part>> {
        Ok(self.next_segment()?.map(|segment| Part::Segment(Box::new(segment))))
    }

    fn recycle(&mut self, spent: SpentSegment) {
        Self::recycle(self, spent);
    }

    fn cancel_with(&mut self, cancel: &CancelToken) {
        Self::cancel_with(self, cancel);
    }
}
