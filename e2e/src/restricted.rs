//! Commands as another user, and commands that may not create namespaces.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::{fs, os::unix::fs::chown};

use crate::Invocation;

const NOBODY: u32 = 65534;
/// Forbids namespaces in a user namespace of its own, and runs the rest there.
const FORBID: &str = "echo 0 > /proc/sys/user/max_mnt_namespaces && echo 0 > /proc/sys/user/max_user_namespaces \
                      && exec \"$@\"";

impl Invocation<'_> {
    /// Runs it as a user without privileges, whose project, home and temporary directory are in a
    /// directory of root. None where there is no second user, or that one cannot start unflake.
    pub fn as_ordinary_user(self) -> Option<Self> {
        let root = self.sandbox.root();
        fs::set_permissions(root, fs::Permissions::from_mode(0o777)).ok()?;
        for name in ["project", "home", "tmp"] {
            give(&root.join(name)).ok()?;
        }
        let (user, group) = (format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"));
        let words = ["setpriv", &user, &group, "--clear-groups"];
        let program = self.command.get_program().to_owned();
        let can = Command::new(words[0]).args(&words[1..]).arg(program).arg("--version").output();
        can.is_ok_and(|output| output.status.success()).then(|| self.behind(&words))
    }

    /// Runs it where nothing may create a namespace. None where that cannot be arranged.
    pub fn without_namespaces(self) -> Option<Self> {
        let words = ["unshare", "--user", "--map-root-user", "sh", "-c", FORBID, "sh"];
        let can = Command::new(words[0]).args(&words[1..]).arg("true").output();
        can.is_ok_and(|output| output.status.success()).then(|| self.behind(&words))
    }

    /// The same command as arguments of another one.
    fn behind(self, words: &[&str]) -> Self {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(self.command.get_program()).args(self.command.get_args()).env_clear();
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(self.command.get_current_dir().unwrap_or(Path::new(".")));
        Self { command, ..self }
    }
}

fn give(path: &Path) -> std::io::Result<()> {
    chown(path, Some(NOBODY), Some(NOBODY))?;
    if path.is_dir() {
        fs::read_dir(path)?.flatten().try_for_each(|entry| give(&entry.path()))?;
    }
    Ok(())
}
