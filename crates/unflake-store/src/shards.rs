//! Stores how a suite was split into shards, what each shard planned, and runs of other histories.

use std::collections::HashMap;

use rusqlite::params;
use unflake_model::{Event, Finding, Test, TestId};

use crate::database::{DatabaseError, Result};
use crate::enum_columns::Json;
use crate::write::Writer;
use crate::{Run, RunFacts, RunId, Store, StoreError};

/// What one run was to do of a suite that several runs share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardPlan {
    /// From 1.
    pub number: u32,
    pub count: u32,
    /// The same for all shards of one suite; empty if nothing tells them from those of another.
    pub group: String,
    /// How many tests the runner listed for all shards together.
    pub listed: u32,
    /// A hash of their names.
    pub listing: String,
    pub planned: Vec<TestId>,
}

/// A run that was one shard of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardRun {
    pub run: Run,
    pub shard: ShardPlan,
}

impl Store {
    /// How the suite of a group is split. The first shard that asks decides by `make`, which gets
    /// the latest split into as many shards; all others get the same. Without a group, every shard
    /// decides by itself.
    pub fn split(
        &mut self,
        group: &str,
        count: u32,
        make: impl FnOnce(Option<&[Vec<TestId>]>) -> Vec<Vec<TestId>>,
    ) -> Result<Vec<Vec<TestId>>, StoreError> {
        self.write(|writer| {
            let names: HashMap<i64, TestId> = writer.names()?;
            let find = |condition: &str, params: &[&dyn rusqlite::types::ToSql]| {
                let mut found: Option<Vec<Vec<i64>>> = None;
                let sql = format!(
                    "SELECT text.body FROM split JOIN text ON text.id = split.body
                     WHERE shards = ?1 {condition} ORDER BY split.id DESC LIMIT 1"
                );
                writer.database.each(&sql, params, &mut |row| {
                    found = Some(row.get::<Json<Vec<Vec<i64>>>>(0)?.0);
                    Ok(())
                })?;
                let named = |ids: Vec<i64>| ids.iter().filter_map(|id| names.get(id).cloned()).collect();
                Ok::<_, DatabaseError>(found.map(|shards| shards.into_iter().map(named).collect::<Vec<Vec<TestId>>>()))
            };
            if !group.is_empty()
                && let Some(known) = find("AND suite = ?2", params![count, group])?
            {
                return Ok(known);
            }
            let latest = find("", params![count])?;
            let new = make(latest.as_deref());
            let mut ids = Vec::new();
            for shard in &new {
                ids.push(shard.iter().map(|test| writer.test(test)).collect::<Result<Vec<i64>>>()?);
            }
            let body = writer.json_text(&ids)?;
            writer.insert("INSERT INTO split (suite, shards, body) VALUES (?, ?, ?)", [&group, &count, &body])?;
            Ok(new)
        })
    }

    /// Stores what a run is to do.
    pub fn record_shard(&mut self, run: RunId, shard: &ShardPlan) -> Result<(), StoreError> {
        self.write(|writer| writer.shard(run, shard))
    }

    /// The runs that were shards of a group, oldest first. Without a group, those of the group of the
    /// latest one.
    pub fn shard_runs(&self, group: Option<&str>) -> Result<Vec<ShardRun>, StoreError> {
        let group = match group {
            Some(group) => group.to_owned(),
            None => {
                let sql = "SELECT suite FROM shard ORDER BY run DESC LIMIT 1";
                let found = self.list(sql, &[], |row| row.get::<String>(0))?;
                let Some(latest) = found.into_iter().next() else { return Ok(Vec::new()) };
                latest
            }
        };
        self.shards_where("WHERE suite = ?", params![group])
    }

    /// All runs that were shards, oldest first.
    pub fn all_shard_runs(&self) -> Result<Vec<ShardRun>, StoreError> {
        self.shards_where("", &[])
    }

    fn shards_where(
        &self,
        condition: &str,
        params: &[&dyn rusqlite::types::ToSql],
    ) -> Result<Vec<ShardRun>, StoreError> {
        let names: HashMap<i64, TestId> = self.tests()?.into_iter().map(|test| (test.key.0, test.test)).collect();
        let mut runs: HashMap<RunId, Run> = self.runs(usize::MAX)?.into_iter().map(|run| (run.id, run)).collect();
        let sql = format!(
            "SELECT run, number, shards, suite, listed, listing, text.body
             FROM shard JOIN text ON text.id = shard.planned {condition} ORDER BY run"
        );
        let all = self.list(&sql, params, |row| {
            let planned = row.get::<Json<Vec<i64>>>(6)?.0;
            let shard = ShardPlan {
                number: row.get(1)?,
                count: row.get(2)?,
                group: row.get(3)?,
                listed: row.get(4)?,
                listing: row.get(5)?,
                planned: planned.iter().filter_map(|id| names.get(id).cloned()).collect(),
            };
            Ok((RunId(row.get(0)?), shard))
        })?;
        Ok(all.into_iter().filter_map(|(run, shard)| Some(ShardRun { run: runs.remove(&run)?, shard })).collect())
    }

    /// Takes over a run of another history, in one transaction: its attempts, other observations and
    /// findings. None if it is here already.
    pub fn take_over(&mut self, from: &Store, shard_run: &ShardRun) -> Result<Option<RunId>, StoreError> {
        let ShardRun { run, shard } = shard_run;
        let tests: HashMap<TestId, Test> = from
            .tests()?
            .into_iter()
            .map(|stored| {
                let file = stored.file.map(Into::into);
                (stored.test.clone(), Test { id: stored.test, file, line: stored.line, command: Vec::new() })
            })
            .collect();
        let listing: Vec<Test> = shard.planned.iter().filter_map(|test| tests.get(test).cloned()).collect();
        let mut events: Vec<Event> = from.worlds_in(run.id)?.into_values().map(Event::WorldEntered).collect();
        events.extend(from.attempts_in(run.id)?.into_iter().map(Event::AttemptEnded));
        events.extend(from.other_observations(run.id)?);
        let findings: Vec<Finding> = from.findings_in(run.id)?.into_iter().map(|(_, finding)| finding).collect();
        let origin = origin(&run.facts, shard);
        self.write(|writer| {
            if writer.database.find("SELECT id FROM run WHERE origin = ?", params![origin])?.is_some() {
                return Ok(None);
            }
            let id = writer.begin(&run.facts)?;
            let changed = Json(&run.facts.revision.changed);
            writer
                .change_run("UPDATE run SET origin = ?2, changed = ?3 WHERE id = ?1", params![id.0, origin, changed])?;
            let deselected = run.listed.map_or(0, |(_, deselected)| deselected);
            writer.listing(id, &listing, deselected)?;
            writer.record(id, &events)?;
            writer.findings(id, &findings)?;
            writer.shard(id, shard)?;
            if let Some((listed, deselected)) = run.listed {
                writer.change_run(
                    "UPDATE run SET listed = ?2, deselected = ?3 WHERE id = ?1",
                    params![id.0, listed, deselected],
                )?;
            }
            if let Some((ended, exit)) = run.ended {
                writer
                    .change_run("UPDATE run SET ended = ?2, exit = ?3 WHERE id = ?1", params![id.0, ended.0, exit])?;
            }
            Ok(Some(id))
        })
    }
}

/// What a run is recognized by in another history.
fn origin(run: &RunFacts, shard: &ShardPlan) -> String {
    format!("{} {} {}/{} {}", run.host.name, run.started.0, shard.number, shard.count, run.cwd)
}

impl Writer<'_> {
    fn shard(&mut self, run: RunId, shard: &ShardPlan) -> Result<()> {
        let planned = shard.planned.iter().map(|test| self.test(test)).collect::<Result<Vec<i64>>>()?;
        let planned = self.json_text(&planned)?;
        self.database.put(
            "INSERT INTO shard (run, number, shards, suite, listed, listing, planned) VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![run.0, shard.number, shard.count, shard.group, shard.listed, shard.listing, planned],
        )
    }

    fn json_text(&mut self, value: &impl serde::Serialize) -> Result<i64> {
        let text = crate::enum_columns::to_json(value)?;
        self.text(&text)
    }

    fn names(&self) -> Result<HashMap<i64, TestId>> {
        let mut names = HashMap::new();
        self.database.each("SELECT id, name FROM test", &[], &mut |row| {
            names.insert(row.get(0)?, TestId::new(row.text(1)?));
            Ok(())
        })?;
        Ok(names)
    }
}
