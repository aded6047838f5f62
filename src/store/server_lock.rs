//! The lock of a source in a store on a server: `GET_LOCK`, which ends with the connection.
//!
//! <https://dev.mysql.com/doc/refman/9.7/en/locking-functions.html>

use super::lock_file::holder;
use super::server_sql::text;
use crate::error::{Error, Result};
use crate::net::Connection;
use crate::wire::to_hex;
use ring::digest;

/// Takes the lock, or returns the text about its holder. `before` is the id of an earlier
/// connection of this process that had the lock, and that the server may not have closed yet;
/// `patience` is the number of seconds to wait.
pub(super) fn take(
    connection: &mut Connection,
    database: &str,
    source: &str,
    (before, patience): (Option<u32>, u32),
) -> Result<Option<String>> {
    let name = name(database, source);
    if !get(connection, &name, if before.is_some() { 0 } else { patience })? {
        let user = connection.query_value(&format!("SELECT IS_USED_LOCK('{name}')"))?;
        let user: Option<u32> = user.and_then(|id| id.parse().ok());
        let is_ours = before.is_some() && user == before;
        if let Some(id) = user.filter(|_| is_ours) {
            // The connection may already be closed.
            let _ = connection.query(&format!("KILL {id}"));
        }
        if !is_ours || !get(connection, &name, PATIENCE)? {
            let sql =
                format!("SELECT holder FROM binarrow_writers WHERE source = {}", text(source));
            let holder = connection.query_value(&sql).ok().flatten().unwrap_or_default();
            let holder = if holder.is_empty() { "another process".to_owned() } else { holder };
            let connection = user.map(|id| format!(", connection {id} of the store's server"));
            return Ok(Some(format!("{holder}{}", connection.unwrap_or_default())));
        }
    }
    let holder = text(&holder());
    let sql = format!(
        "REPLACE INTO binarrow_writers (source, holder) VALUES ({}, {holder})",
        text(source)
    );
    connection.query(&sql)?;
    Ok(None)
}

fn get(connection: &mut Connection, name: &str, seconds: u32) -> Result<bool> {
    match connection.query_value(&format!("SELECT GET_LOCK('{name}', {seconds})"))?.as_deref() {
        Some("1") => Ok(true),
        Some("0") => Ok(false),
        _ => Err(Error::malformed("the server's answer to GET_LOCK is neither 1 nor 0")),
    }
}

/// Names of locks have at most 64 characters, and are shared by all databases of the server.
fn name(database: &str, source: &str) -> String {
    let text = format!("{database}\0{source}");
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    format!("binarrow.{}", to_hex(digest.as_ref().get(..16).unwrap_or_default()))
}

/// The number of seconds after which a server notices that the process of a connection has ended.
pub(super) const PATIENCE: u32 = 1;
