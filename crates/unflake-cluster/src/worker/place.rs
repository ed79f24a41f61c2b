//! Gives a worker its inputs, under the paths that they have where the run was started.

use std::path::{Path, PathBuf};
use std::{env, io};

use tracing::debug;

use crate::files::RunFiles;
use crate::inputs::{NodeStore, is_same};
use crate::messages::{FromWorker, JobFile};
use crate::namespace::{self, ShownTree};

/// Fetches and shows the inputs. Returns the message for it, and the directory for what is written,
/// locked.
pub(super) fn take_place(run: &RunFiles, job: &JobFile) -> Result<(FromWorker, impl Drop + use<>, PathBuf), String> {
    let shared = run.path().ancestors().nth(2).unwrap_or(run.path());
    let mut node = job.node_directory.clone().unwrap_or_else(usual_node_directory);
    let failed = |what: String| move |error: io::Error| format!("{what}: {error}");
    let mut store = NodeStore::open(&node, shared);
    if store.is_err() && job.has_one_order {
        // The sandbox of an action may permit only this.
        node = shared.join("node");
        store = NodeStore::open(&node, shared);
    }
    let mut store = store.map_err(failed(format!("{} cannot be used for inputs", node.display())))?;
    let (work, lock) = store.work_dir().map_err(failed(format!("{} cannot be written", node.display())))?;
    let mut notes = Vec::new();
    if !job.inputs.trees.is_empty() {
        let roots: Vec<PathBuf> = job.inputs.trees.iter().map(|tree| tree.path.clone()).collect();
        let mut trees = Vec::new();
        for (number, tree) in job.inputs.trees.iter().enumerate() {
            let what = || format!("the files of {} cannot be fetched", tree.path.display());
            let source = store.tree(&tree.manifest).map_err(failed(what()))?;
            trees.push(ShownTree { source, path: tree.path.clone(), layers: work.join(number.to_string()) });
        }
        match namespace::enter() {
            Ok(in_user_namespace) => {
                let through = [vec![shared.to_owned(), node.clone()], roots].concat();
                if let Err(error) = namespace::own_temporary_files(&work, &through, in_user_namespace) {
                    debug!(%error, "temporary files are shared");
                    notes.push(format!("workers of one machine share temporary files: {error}"));
                }
                for tree in &trees {
                    namespace::show(tree, in_user_namespace)
                        .map_err(failed(format!("the files of {} cannot be shown", tree.path.display())))?;
                }
            }
            Err(error) => {
                debug!(%error, "no mount namespace");
                let different = job.inputs.trees.iter().find(|tree| !is_same(&tree.path, shared, &tree.manifest));
                if let Some(tree) = different {
                    return Err(format!(
                        "namespaces are not permitted here ({error}), and {} is not the same as where unflake was \
                         started",
                        tree.path.display()
                    ));
                }
                notes.push("sessions share the project files with each other: namespaces are not permitted".to_owned());
            }
        }
    }
    env::set_current_dir(&job.directory)
        .map_err(failed(format!("the directory {} cannot be entered", job.directory.display())))?;
    Ok((FromWorker::Ready { fetched: store.fetched, notes }, lock, work))
}

/// On a local disk that outlives the job: the next worker finds the inputs there.
fn usual_node_directory() -> PathBuf {
    Path::new("/var/tmp").join(format!(".unflake-node-{}", nix::unistd::geteuid()))
}
