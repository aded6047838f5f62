//! Temporary tables that online schema-change tools create next to the table that they change.
//!
//! Such a tool copies a table into one with the new structure, keeps the copy up to date, and
//! finally swaps the two by a rename.
//! This module contains the names that the tools use. A name alone proves nothing: see [`OnlineChanges`](super::OnlineChanges).
//! <https://github.com/github/gh-ost>,
//! <https://docs.percona.com/percona-toolkit/pt-online-schema-change.html>

/// A tool that changes tables while they are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnlineTool {
    /// gh-ost: `_orders_gho`, `_orders_ghc`, `_orders_del`, `_orders_20261121093000_del`.
    GhOst,
    /// pt-online-schema-change: `_orders_new`, `_orders_old`, with up to ten underscores before it.
    PtOnlineSchemaChange,
}

/// The purpose of a tool's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolTable {
    /// It has the new structure, and replaces the table at the end.
    Copy,
    /// The original table, after the swap.
    Old,
    /// The tool's own log.
    Log,
}

impl OnlineTool {
    /// The tool that uses such a name, and the purpose of the table.
    pub fn of_table(table: &str) -> Option<(Self, ToolTable)> {
        let rest = table.strip_prefix('_')?;
        let is_of = |suffix: &str| rest.strip_suffix(suffix).is_some_and(|base| !base.is_empty());
        if let Some((_, use_)) = GH_OST.iter().find(|(suffix, _)| is_of(suffix)) {
            return Some((Self::GhOst, *use_));
        }
        let underscores = table.bytes().take_while(|byte| *byte == b'_').count();
        let is_of =
            |suffix: &str| table.strip_suffix(suffix).is_some_and(|base| base.len() > underscores);
        let found = PT_ONLINE_SCHEMA_CHANGE.iter().find(|(suffix, _)| is_of(suffix));
        let (_, use_) = found.filter(|_| underscores <= MAX_UNDERSCORES)?;
        Some((Self::PtOnlineSchemaChange, *use_))
    }

    /// The tool's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GhOst => "gh-ost",
            Self::PtOnlineSchemaChange => "pt-online-schema-change",
        }
    }
}

const GH_OST: [(&str, ToolTable); 3] =
    [("_gho", ToolTable::Copy), ("_ghc", ToolTable::Log), ("_del", ToolTable::Old)];

const PT_ONLINE_SCHEMA_CHANGE: [(&str, ToolTable); 2] =
    [("_new", ToolTable::Copy), ("_old", ToolTable::Old)];

/// If the name `_orders_new` is used already, the tool tries more underscores, up to ten.
const MAX_UNDERSCORES: usize = 10;

#[cfg(test)]
mod tests {
    use super::OnlineTool::{self, GhOst, PtOnlineSchemaChange};

    #[test]
    fn names() {
        for (table, tool) in [
            ("_orders_gho", Some(GhOst)),
            ("_orders_ghc", Some(GhOst)),
            ("_orders_del", Some(GhOst)),
            ("_orders_20261121093000_del", Some(GhOst)),
            ("__private_gho", Some(GhOst)),
            ("_größe_gho", Some(GhOst)),
            ("_orders_new", Some(PtOnlineSchemaChange)),
            ("_orders_old", Some(PtOnlineSchemaChange)),
            ("__________orders_new", Some(PtOnlineSchemaChange)),
            ("___________orders_new", None),
            ("orders_gho", None),
            ("orders_new", None),
            ("_orders", None),
            ("_gho", None),
            ("_new", None),
            ("__new", None),
            ("_orders_new_2", None),
            ("", None),
        ] {
            assert_eq!(OnlineTool::of_table(table).map(|(tool, _)| tool), tool, "{table}");
        }
    }
}
