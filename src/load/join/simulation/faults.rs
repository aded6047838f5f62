//! The planted faults, which the checks must find.

/// A planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// The position of SHOW BINARY LOG STATUS, as the exact position of a snapshot.
    PositionOfStatus,
    /// `gtid_executed`, if it is the same before and after the snapshot, as the exact position.
    GtidsAsExact,
    /// `log_status` as the exact position although an XA transaction was committed.
    XaIgnored,
    /// An exact chunk is returned one transaction too early.
    Early,
    /// An exact chunk is returned one transaction too late.
    Late,
    /// Rows have the version of the position, which is that of the next transaction.
    VersionOfPosition,
    /// A chunk begins after the first key that it should contain.
    KeyLost,
    /// A chunk begins with the last key of the chunk before.
    KeyTwice,
    /// A load that was interrupted inside of a chunk continues with the following chunk.
    FollowingChunk,
    /// Changes may be in a chunk and after it, and the position does not contain it.
    ConsistentFromIgnored,
    /// The stored position does not contain it.
    ConsistentFromNotStored,
    /// A load continues after a statement that replaced its table.
    ReplacedIgnored,
    /// The rows of a table without a key are those of a later snapshot than the first.
    LaterSnapshot,
}

pub(super) const FAULTS: [Fault; 13] = [
    Fault::PositionOfStatus,
    Fault::GtidsAsExact,
    Fault::XaIgnored,
    Fault::Early,
    Fault::Late,
    Fault::VersionOfPosition,
    Fault::KeyLost,
    Fault::KeyTwice,
    Fault::FollowingChunk,
    Fault::ConsistentFromIgnored,
    Fault::ConsistentFromNotStored,
    Fault::ReplacedIgnored,
    Fault::LaterSnapshot,
];
