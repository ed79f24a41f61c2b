//! Starts runner processes with an agent inside, each under a supervisor.
//!
//! Owns everything that is the same for all processes of a run: the launch settings, the run
//! directory with the socket, the unpacked agents and the world in which processes start.

use std::cell::OnceCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use tracing::debug;
use unflake_model::Granularity;
use unflake_protocol::InjectedAgent;
use unflake_protocol::variables::{DOOR, PRIVATE, REUSED, SEEDED, SHARED};
use unflake_worlds::{OpenWorld, PrivatePlan, SharedPart, SpawnSpec};

use crate::agent_cache;
use crate::environment::Role;
use crate::injection::{Injection, UnpackedAgent};
use crate::input::EngineInput;
use crate::launch::{Launch, StartError};
use crate::runner_process::output::RunnerOutput;
use crate::runner_process::run_dir::{RunDir, SOCKET};
use crate::runner_process::supervisor::Supervisor;
use crate::shared_builds::SharedBuilds;

pub(crate) struct RunnerStarter {
    run_dir: RunDir,
    launch: Launch,
    agents: Vec<UnpackedAgent>,
    /// The world in which runners start. None: that of unflake itself.
    world: Option<OpenWorld>,
    /// A directory that the engines of all worlds share: the run directory of the first.
    shared: PathBuf,
    /// How processes enter private worlds, and what of that this machine does not permit. Tried out
    /// when the first session needs it.
    private: OnceCell<(Option<PrivatePlan>, Vec<SharedPart>)>,
    inputs: Sender<EngineInput>,
}

/// A started runner process.
pub(crate) struct RunnerProcess {
    pub(crate) supervisor: Supervisor,
    pub(crate) output: RunnerOutput,
    /// The files that it collects. None: all.
    pub(crate) only: Option<Vec<String>>,
    /// Whether and how finely it records what attempts depend on.
    pub(crate) depends: Option<Granularity>,
}

impl RunnerStarter {
    pub(crate) fn new(mut launch: Launch, run_dir: RunDir, inputs: Sender<EngineInput>) -> Result<Self, StartError> {
        launch.cache = launch.cache.and_then(agent_cache::private);
        let unpack = |agent: &InjectedAgent| {
            let directory = agent_cache::unpack(agent, launch.cache.as_deref(), run_dir.path())?;
            Ok(UnpackedAgent { directory, prepend: agent.prepend })
        };
        let agents = launch.agents.iter().map(unpack).collect::<Result<_, _>>();
        let agents = agents.map_err(StartError::in_operation("lay out the agent for the runner"))?;
        let shared = launch.builds.as_ref().map_or(run_dir.path(), SharedBuilds::directory).to_owned();
        Ok(Self { run_dir, launch, agents, world: None, shared, private: OnceCell::new(), inputs })
    }

    pub(crate) fn launch(&self) -> &Launch {
        &self.launch
    }

    pub(crate) fn run_dir(&self) -> &Path {
        self.run_dir.path()
    }

    pub(crate) fn inputs(&self) -> Sender<EngineInput> {
        self.inputs.clone()
    }

    /// From now on processes start in this world.
    pub(crate) fn enter(&mut self, world: OpenWorld, shared: PathBuf) {
        (self.world, self.shared) = (Some(world), shared);
    }

    pub(crate) fn world(&self) -> Option<&OpenWorld> {
        self.world.as_ref()
    }

    pub(crate) fn world_mut(&mut self) -> Option<&mut OpenWorld> {
        self.world.as_mut()
    }

    pub(crate) fn private(&self) -> Option<&PrivatePlan> {
        self.privacy().0.as_ref()
    }

    fn privacy(&self) -> &(Option<PrivatePlan>, Vec<SharedPart>) {
        let make = |request| PrivatePlan::make(request, self.run_dir.path());
        self.private.get_or_init(|| self.launch.private.as_ref().map(make).unwrap_or_default())
    }

    /// Whether private sessions share nothing with each other.
    pub(crate) fn is_all_private(&self) -> bool {
        self.privacy().1.is_empty()
    }

    /// What cannot be private here, for the user.
    pub(crate) fn not_private(&self) -> Option<String> {
        let shared = &self.privacy().1;
        let (_, why) = shared.first()?;
        let parts: Vec<&str> = shared.iter().map(|(part, _)| part.shared_text()).collect();
        Some(format!("attempts that run at once share {}: {why}", parts.join(", ")))
    }

    pub(crate) fn shared(&self) -> &Path {
        &self.shared
    }

    /// Starts the user's command as environment `id`, with an agent inside. `only` restricts
    /// collection to some files; `depends`: it records what attempts depend on; `world`: another one
    /// than that of all processes.
    pub(crate) fn start(
        &self,
        id: u32,
        role: Role,
        only: Option<Vec<String>>,
        depends: Option<Granularity>,
        private: bool,
        world: Option<SpawnSpec>,
    ) -> io::Result<RunnerProcess> {
        debug!(environment = id, ?role, only = only.as_ref().map(Vec::len), ?depends, "starting a runner process");
        let run_dir = self.run_dir.path();
        let only_file = match &only {
            Some(files) => {
                let path = run_dir.join(format!("only-{id}"));
                std::fs::write(&path, serde_json::to_vec(files)?)?;
                Some(path)
            }
            None => None,
        };
        let mut variables = Injection {
            agents: &self.agents,
            socket: &run_dir.join(SOCKET),
            side: run_dir,
            environment: id,
            reports: role == Role::Suite && self.launch.suite,
            output_limit: self.launch.output_limit,
            only: only_file.as_deref(),
            traced: self.launch.traced,
            layers: &self.launch.layers,
            filter: self.launch.filter,
            cache: self.launch.cache.as_deref(),
            depends,
            installed: self.launch.installed || depends.is_some(),
        }
        .variables();
        let mut world = world.or_else(|| self.world.as_ref().map(OpenWorld::spawn_spec));
        // What runs in the process of the suite is never private, and orders tell a driver what is.
        let is_suite = role == Role::Suite && self.launch.suite;
        if let Some(plan) = (!is_suite && self.launch.driver.is_none()).then(|| self.private()).flatten() {
            match private {
                true => world = Some(world.unwrap_or_default().in_private(plan)),
                false => variables.push((PRIVATE.to_owned(), serde_json::to_string(plan)?)),
            }
        }
        if self.launch.driver.is_some() {
            if self.launch.session_seeds.is_some() {
                variables.push((SEEDED.to_owned(), "yes".to_owned()));
            }
            if !self.launch.suite {
                variables.push((SHARED.to_owned(), self.shared.to_string_lossy().into_owned()));
                if self.launch.builds.as_ref().is_some_and(SharedBuilds::are_made) {
                    variables.push((REUSED.to_owned(), "1".to_owned()));
                }
            }
            // A driver is part of unflake and stays outside of the world: it lists tests as usual
            // and starts the project's processes in the world.
            if let Some(world) = world.take() {
                variables.push((DOOR.to_owned(), serde_json::to_string(&world)?));
            }
        }
        let driver = self.launch.driver.iter().flatten();
        let command: Vec<String> = driver.chain(&self.launch.command).cloned().collect();
        let (pipe, output) = RunnerOutput::pipe()?;
        let inputs = self.inputs.clone();
        let supervisor = Supervisor::start(
            &self.launch,
            run_dir,
            &command,
            &variables,
            world.as_ref(),
            (pipe.try_clone()?, pipe),
            move |end| drop(inputs.send(EngineInput::ProcessExited { environment: id, end })),
        )?;
        Ok(RunnerProcess { supervisor, output, only, depends })
    }
}
