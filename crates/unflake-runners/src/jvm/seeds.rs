//! Seeds in JVMs that unflake does not start itself: an agent that every JVM of a command loads.

use std::path::Path;

use tracing::debug;
use unflake_worlds::{RuntimeSupport, SupportVariable};

use crate::jvm::agent_build::AgentBuild;

/// The variable that adds an option to all JVMs. None: without a JDK there is no agent.
pub(crate) fn support(cache: Option<&Path>) -> Option<RuntimeSupport> {
    let agent = AgentBuild { cache: cache? }.seeds();
    let agent = agent.inspect_err(|error| debug!(error, "JVMs draw their seeds themselves")).ok()?;
    let value = format!("-javaagent:{}", agent.display());
    // The variable has no escapes: a path with a blank would be two options.
    let can_be_named = !value.contains(char::is_whitespace);
    let variable = SupportVariable { name: "JAVA_TOOL_OPTIONS", value: value.into(), separator: " " };
    can_be_named.then(|| RuntimeSupport { files: &[], variables: vec![variable].into() })
}
