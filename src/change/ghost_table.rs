//! Tables that online schema-change tools make for a while beside the table that they change.
//!
//! Such a tool copies a table into one of the new structure, keeps that up to date, and at the end swaps the two by a rename.
//! Rows of the copy are none that anybody changed, so they are left out unless asked for. The tables are known by their names:
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

impl OnlineTool {
    /// The tool that makes tables of such names, if one does.
    pub fn of_table(table: &str) -> Option<Self> {
        let rest = table.strip_prefix('_')?;
        let is_of = |suffix: &str| rest.strip_suffix(suffix).is_some_and(|base| !base.is_empty());
        if GH_OST.iter().any(|suffix| is_of(suffix)) {
            return Some(Self::GhOst);
        }
        let underscores = table.bytes().take_while(|byte| *byte == b'_').count();
        let is_pt = underscores <= MAX_UNDERSCORES
            && PT_ONLINE_SCHEMA_CHANGE.iter().any(|suffix| {
                table.strip_suffix(suffix).is_some_and(|base| base.len() > underscores)
            });
        is_pt.then_some(Self::PtOnlineSchemaChange)
    }

    /// The tool's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GhOst => "gh-ost",
            Self::PtOnlineSchemaChange => "pt-online-schema-change",
        }
    }
}

/// The table in the making, the tool's own log, the table as it was.
const GH_OST: [&str; 3] = ["_gho", "_ghc", "_del"];

/// The table in the making, the table as it was.
const PT_ONLINE_SCHEMA_CHANGE: [&str; 2] = ["_new", "_old"];

/// Where `_orders_new` is taken, the tool tries more underscores, up to ten.
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
            assert_eq!(OnlineTool::of_table(table), tool, "{table}");
        }
    }
}
