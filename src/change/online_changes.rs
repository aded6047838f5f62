//! Online schema changes: recognizes swaps of two tables that a tool made.
//!
//! The swap replaces a table by a copy, with a rename. If a tool has kept the copy up to date, the
//! table has the same rows after the swap as before. A reload of a table may swap tables with the
//! same names (`_orders_new`, `_orders_old`), but then the table has other rows afterwards. So a
//! name proves nothing. These marks of the tools in the log are proof:
//!
//! * gh-ost writes its comment into the swap itself: `rename /* gh-ost */ table ...`.
//! * pt-online-schema-change creates three triggers on the table before it copies the first row, `pt_osc_..._ins`, `_upd` and
//!   `_del`, which write into the copy. They are proof from the event at which the read finds them until one of them, the copy
//!   or the table is dropped or renamed.
//!
//! Input: statements of the log, in its order. Output: the tool of each rename. Called by
//! `source::markers`.

use super::{OnlineTool, ToolTable};
use crate::ddl::{Ddl, DdlKind, TableName, TriggerEvent, TriggerStatement};

/// The evidence required to treat a rename as a tool's swap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnlineSchemaChange {
    /// Marks in the log that only a tool writes.
    #[default]
    Evidence,
    /// The names of the tables: the caller knows that only the tools use them.
    Trust,
}

/// Follows the statements of the log, for the marks of tools.
#[derive(Debug, Default)]
pub struct OnlineChanges {
    triggers: Vec<Trigger>,
}

/// A trigger that writes each change of a table into its copy.
#[derive(Debug)]
struct Trigger {
    name: TableName,
    event: TriggerEvent,
    table: TableName,
    copy: TableName,
}

impl OnlineChanges {
    /// Adds a statement that changes tables, after its renames were checked.
    pub fn observe(&mut self, ddl: &Ddl) {
        let is_over = |name: &TableName| match ddl.tables.is_empty() {
            true => ddl.kind == DdlKind::Drop && ddl.database == name.database,
            false => {
                (ddl.kind != DdlKind::Alter || !ddl.renames.is_empty()) && ddl.tables.contains(name)
            }
        };
        self.triggers.retain(|trigger| !is_over(&trigger.table) && !is_over(&trigger.copy));
    }

    /// Adds a statement about a trigger.
    pub fn observe_trigger(&mut self, statement: TriggerStatement) {
        match statement {
            TriggerStatement::Drop { name } => {
                self.triggers.retain(|trigger| trigger.name != name);
            }
            TriggerStatement::Create { name, event, table, names }
                if name.table.starts_with(PT_TRIGGER) && self.triggers.len() < MAX_TRIGGERS =>
            {
                let is_copy = |name: &TableName| use_of(name) == Some(PT_COPY);
                if let Some(copy) = names.into_iter().find(is_copy) {
                    self.triggers.retain(|trigger| trigger.name != name);
                    self.triggers.push(Trigger { name, event, table, copy });
                }
            }
            TriggerStatement::Create { .. } => {}
        }
    }

    /// Returns the tool of each rename of a statement. `None` for a swap back, because the old table was not kept up to date.
    pub fn tools_of(
        &self,
        ddl: &Ddl,
        sql: &str,
        online: OnlineSchemaChange,
    ) -> Vec<Option<OnlineTool>> {
        let has_comment = is_of_gh_ost(sql);
        let tool_of = |(from, to): &(TableName, TableName)| {
            let (tool, table) = match (use_of(from), use_of(to)) {
                (Some((tool, ToolTable::Copy)), None) => (tool, to),
                (None, Some((tool, ToolTable::Old))) => (tool, from),
                _ => return None,
            };
            if tool == OnlineTool::GhOst && has_comment {
                return Some(tool);
            }
            // Both halves of the swap.
            let mut renames = ddl.renames.iter();
            let (copy, _) = renames
                .find(|(from, to)| to == table && use_of(from) == Some((tool, ToolTable::Copy)))?;
            let mut renames = ddl.renames.iter();
            renames
                .find(|(from, to)| from == table && use_of(to) == Some((tool, ToolTable::Old)))?;
            let is_proved = match tool {
                OnlineTool::GhOst => false,
                OnlineTool::PtOnlineSchemaChange => self.is_kept_up_to_date(table, copy),
            };
            (is_proved || online == OnlineSchemaChange::Trust).then_some(tool)
        };
        ddl.renames.iter().map(tool_of).collect()
    }

    /// True if triggers write every change of the table into the copy.
    fn is_kept_up_to_date(&self, table: &TableName, copy: &TableName) -> bool {
        [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete].iter().all(|event| {
            self.triggers.iter().any(|trigger| {
                trigger.event == *event && trigger.table == *table && trigger.copy == *copy
            })
        })
    }
}

/// The tool that uses such a table name, and the purpose of the table.
fn use_of(name: &TableName) -> Option<(OnlineTool, ToolTable)> {
    OnlineTool::of_table(&name.table)
}

/// `rename /* gh-ost */ table ...`, or `alter /* gh-ost */ table ...` for a swap in two steps.
fn is_of_gh_ost(sql: &str) -> bool {
    let rest = sql.trim_start();
    ["rename ", "alter "].iter().any(|word| {
        rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
            && rest.get(word.len()..).is_some_and(|rest| rest.starts_with(GH_OST_COMMENT))
    })
}

const GH_OST_COMMENT: &str = "/* gh-ost */ ";

const PT_COPY: (OnlineTool, ToolTable) = (OnlineTool::PtOnlineSchemaChange, ToolTable::Copy);

/// The prefix of its triggers' names.
const PT_TRIGGER: &str = "pt_osc_";

/// Three for each table that is being changed. The tool has fewer triggers than this.
const MAX_TRIGGERS: usize = 3 * 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ddl::{ParsedStatement, QuoteMode};

    const SWAP: &str = "RENAME TABLE `shop`.`t` TO `shop`.`_t_old`, `shop`.`_t_new` TO `shop`.`t`";

    fn created(event: &str) -> String {
        let name = event.get(..3).unwrap_or_default().to_lowercase();
        format!(
            "CREATE DEFINER=`root`@`%` TRIGGER `pt_osc_shop_t_{name}` AFTER {event} ON `shop`.`t` FOR EACH ROW \
             REPLACE INTO `shop`.`_t_new` (`id`) VALUES (NEW.`id`)"
        )
    }

    /// The tools of the last statement's renames.
    fn tools(statements: &[&str], online: OnlineSchemaChange) -> Vec<Option<&'static str>> {
        let mut changes = OnlineChanges::default();
        let mut tools = Vec::new();
        for sql in statements {
            let parsed = ParsedStatement::parse(sql, "shop", QuoteMode::default());
            let ddl = parsed.ddl().unwrap();
            tools = ddl.as_ref().map_or(Vec::new(), |ddl| changes.tools_of(ddl, sql, online));
            ddl.iter().for_each(|ddl| changes.observe(ddl));
            parsed
                .trigger()
                .cloned()
                .into_iter()
                .for_each(|trigger| changes.observe_trigger(trigger));
        }
        tools.iter().map(|tool| tool.map(OnlineTool::name)).collect()
    }

    fn is_trusted(before: &[&str], swap: &str) -> bool {
        let statements: Vec<_> = before.iter().chain([&swap]).copied().collect();
        let tools = tools(&statements, OnlineSchemaChange::Evidence);
        assert!(tools.iter().all(|tool| tool.is_some() == tools[0].is_some()), "{tools:?}");
        tools[0].is_some()
    }

    #[test]
    fn names_alone_prove_nothing() {
        for swap in [
            SWAP,
            "RENAME TABLE t TO _t_del, _t_gho TO t",
            "rename /* like gh-ost */ table t to _t_del, _t_gho to t",
            "rename table t to `_t_/* gh-ost */ _del`, _t_gho to t",
            "RENAME TABLE t TO _t_old, u TO t",
        ] {
            assert!(!is_trusted(&[], swap), "{swap}");
        }
    }

    #[test]
    fn the_comment_of_gh_ost() {
        assert!(is_trusted(
            &[],
            "rename /* gh-ost */ table `shop`.`t` to `shop`.`_t_del`, `shop`.`_t_gho` to `shop`.`t`"
        ));
        assert!(is_trusted(&[], "alter /* gh-ost */ table `shop`.`t` rename `_t_del`"));
        assert!(is_trusted(
            &[],
            "Rename /* gh-ost */ table t to _t_20261121093000_del, _t_gho to t"
        ));
        // --test-on-replica swaps back.
        assert!(!is_trusted(&[], "rename /* gh-ost */ table t to _t_gho, _t_del to t"));
        assert!(!is_trusted(&[], "rename /* gh-ost */ table t to _t_old, _t_new to t"));
    }

    #[test]
    fn triggers_of_pt_online_schema_change() {
        let all = ["INSERT", "UPDATE", "DELETE"].map(created);
        let [insert, update, delete] = all.each_ref().map(String::as_str);
        assert!(is_trusted(&[delete, update, insert], SWAP));
        assert!(!is_trusted(&[delete, update], SWAP), "one is missing");
        assert!(!is_trusted(&[insert, insert, insert], SWAP));
        for over in [
            "DROP TRIGGER IF EXISTS `shop`.`pt_osc_shop_t_ins`",
            "DROP TABLE IF EXISTS `_t_new`",
            "TRUNCATE _t_new",
            "CREATE TABLE IF NOT EXISTS `_t_new` LIKE t",
            "ALTER TABLE _t_new RENAME TO u",
            "DROP DATABASE shop",
            SWAP,
        ] {
            assert!(!is_trusted(&[delete, update, insert, over], SWAP), "{over}");
        }
        for other in ["DROP TABLE u", "ALTER TABLE _t_new ADD w INT", "DROP DATABASE crm"] {
            assert!(is_trusted(&[delete, update, insert, other], SWAP), "{other}");
        }
        let mixed = format!("{SWAP}, u TO _u_old, _u_new TO u");
        let statements = [delete, update, insert, &*mixed];
        let pt = Some("pt-online-schema-change");
        assert_eq!(tools(&statements, OnlineSchemaChange::Evidence), [pt, pt, None, None]);
    }

    #[test]
    fn the_word_of_the_caller() {
        let trusted = |swap| tools(&[swap], OnlineSchemaChange::Trust);
        let pt = Some("pt-online-schema-change");
        assert_eq!(trusted(SWAP), [pt, pt]);
        assert_eq!(trusted("RENAME TABLE t TO _t_del, _t_gho TO t"), [Some("gh-ost"); 2]);
        // A swap back, one half, names of two tools.
        assert_eq!(trusted("RENAME TABLE t TO _t_new, _t_old TO t"), [None, None]);
        assert_eq!(trusted("RENAME TABLE t TO _t_old"), [None]);
        assert_eq!(trusted("RENAME TABLE t TO _t_del, _t_new TO t"), [None, None]);
        assert_eq!(trusted("RENAME TABLE t TO u, _t_new TO t"), [None, None]);
    }
}
