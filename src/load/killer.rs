//! Ends a query that a server executes for rows that are not needed any more.

use crate::error::{Error, ErrorKind, Result};
use crate::net::{ConnectOptions, Server};

/// Ends a query on the server over another connection. A server notices the end of a connection only when it writes rows.
pub struct Killer {
    options: ConnectOptions,
    /// The server's identity: an address may lead to several servers, which have connections of the same numbers.
    server: String,
    connection_id: u32,
}

impl Killer {
    /// Creates the killer of the queries of a connection.
    pub fn of(server: &mut Server) -> Self {
        let id = server.identity().id.clone();
        let connection = server.connection();
        Self {
            options: connection.options().clone(),
            server: id,
            connection_id: connection.greeting().connection_id,
        }
    }

    /// Ends the query in another thread. If this fails, the query ends when the server writes its next rows.
    pub fn kill_in_background(self) {
        let kill = move || drop(self.kill());
        drop(std::thread::Builder::new().name("binarrow-kill".into()).spawn(kill));
    }

    /// Ends the connection of the query. An account may end its own connections without a privilege.
    ///
    /// # Errors
    /// The server cannot be reached, or a different one answers.
    fn kill(self) -> Result<()> {
        let mut server = Server::open(self.options)?;
        if server.identity().id != self.server {
            return Err(Error::new(ErrorKind::ServerIdentity, "a different server answers"));
        }
        match server.connection().query(&format!("KILL {}", self.connection_id)) {
            // It has ended meanwhile.
            Err(error) if error.server_code() == Some(NO_SUCH_CONNECTION) => Ok(()),
            answer => answer.map(drop),
        }
    }
}

const NO_SUCH_CONNECTION: u16 = 1094;
