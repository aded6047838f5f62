//! Loops over the steps of a walk, for the statements of a log without its rows.

use super::SchemaFollower;
use super::in_force::PendingDdl;
use crate::change::{Transaction, TransactionEnd};
use crate::error::Result;
use crate::history::ParsedDdl;
use crate::source::walk::{Step, Walk};

/// Follows the statements of a log to the end of a walk.
pub(crate) fn follow(walk: &mut Walk, follower: &mut SchemaFollower) -> Result<()> {
    let followed = follow_steps(walk, follower).map_err(|error| walk.name_file(error));
    // The statements before an error are correct.
    let reached = follower.reach(walk.position());
    followed.and(reached)
}

fn follow_steps(walk: &mut Walk, follower: &mut SchemaFollower) -> Result<()> {
    let mut reached = (walk.files().index(), walk.position().offset);
    while let Some(step) = walk.next(true)? {
        let is_end = matches!(step, Step::Transaction(_) | Step::Gap(_) | Step::FileEnds(_));
        follower.take(step, walk)?;
        let here = (walk.files().index(), walk.position().offset);
        let is_far = here.0 != reached.0 || here.1 >= reached.1.saturating_add(REACH_EVERY);
        if is_end && is_far {
            follower.reach(walk.position())?;
            reached = here;
            walk.files().cancel().check()?;
        }
    }
    Ok(())
}

/// The statements of a log that change tables, to the end of a walk that wants statements.
pub(super) fn statements(walk: &mut Walk) -> Result<Vec<ParsedDdl>> {
    let (mut pending, mut committed) = (PendingDdl::default(), Vec::new());
    let mut take = |walk: &mut Walk| -> Result<()> {
        while let Some(step) = walk.next(true)? {
            match step {
                Step::Statement(statement) if !statement.is_skipped => pending.observe(&statement),
                Step::LoneStatement(statement) => {
                    walk.pass_statement(&statement);
                    if statement.is_after_stop {
                        pending.clear();
                    }
                    let Transaction { start, commit_timestamp, .. } = statement.transaction;
                    let ddl = pending.commit(start, commit_timestamp, walk.position());
                    committed.extend(ddl.map(|(_, ddl)| ddl));
                }
                Step::Transaction(verdicts) => {
                    let ended = walk.take_transaction()?;
                    walk.pass(&ended, verdicts)?;
                    let Transaction { start, commit_timestamp, .. } = ended.group.transaction;
                    if ended.outcome != TransactionEnd::Committed || ended.group.without_effect {
                        pending.clear();
                    }
                    let ddl = pending.commit(start, commit_timestamp, walk.position());
                    committed.extend(ddl.map(|(_, ddl)| ddl));
                }
                Step::FileEnds(_) => pending.clear(),
                _ => {}
            }
        }
        Ok(())
    };
    take(walk).map_err(|error| walk.name_file(error))?;
    Ok(committed)
}

/// Bytes of the log after which a history stores how far it reaches.
const REACH_EVERY: u64 = 8 << 20;
