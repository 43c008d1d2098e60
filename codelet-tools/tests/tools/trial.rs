//! A scratch folder with the tools of a session.
// No test file uses all of it.
#![allow(dead_code)]

use codelet_agent::event::Event;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::permission::{Permission, Rules};
use codelet_agent::tool::{Call, Live, Need, Output, Tool};
use codelet_context::conversation::Conversation;
use codelet_context::message::Parameters;
use codelet_context::policy::CompactionConfig;
use codelet_testkit::MachineClock;
use codelet_tools::{Options, all};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

pub struct Trial {
    _folder: TempDir,
    pub workspace: PathBuf,
    /// A folder beside the workspace.
    pub outside: PathBuf,
    pub tools: Vec<Arc<dyn Tool>>,
    pub conversation: Conversation,
    pub interrupt: Interrupt,
    pub live: Live,
    rules: Rules,
}

impl Trial {
    pub fn new(permission: Permission) -> Trial {
        Trial::with(permission, |_| {})
    }

    pub fn with(permission: Permission, change: impl FnOnce(&mut Options)) -> Trial {
        // Not in the temporary folder, which sandboxed commands may write to.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (workspace, outside, temporary) = (base.join("work"), base.join("outside"), base.join("it's tmp"));
        for made in [&workspace, &outside, &temporary] {
            std::fs::create_dir(made).unwrap();
        }
        let mut options = Options::new(&workspace);
        options.permission = permission;
        options.temporary = temporary;
        change(&mut options);
        Trial {
            _folder: folder,
            workspace,
            outside,
            tools: all(&options),
            conversation: Conversation::new(CompactionConfig::new(200_000), 0),
            interrupt: Interrupt::new(),
            live: Live::none(),
            rules: Rules {
                permission,
                allow: vec!["*".to_owned()],
                deny: Vec::new(),
            },
        }
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.workspace.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.workspace.join(name)).unwrap()
    }

    pub fn tool(&self, name: &str) -> &dyn Tool {
        &**self.tools.iter().find(|tool| &*tool.spec().name == name).unwrap()
    }

    /// Checks a call against the rules and makes it.
    pub async fn make(&self, tool: &str, parameters: Value) -> Output {
        let parameters = Parameters::new(parameters.as_object().unwrap().clone());
        let tool = self.tool(tool);
        let needs = match tool.needs(&parameters) {
            Ok(needs) => needs,
            Err(error) => return Output::failure(error),
        };
        if let Some(objection) = needs.iter().find_map(|need| self.rules.objection(need)) {
            return Output::failure(format!("refused: {objection}"));
        }
        self.permitted(tool, &parameters, &needs).await
    }

    /// Makes a call with these permissions.
    pub async fn permitted(&self, tool: &dyn Tool, parameters: &Parameters, needs: &[Need]) -> Output {
        tool.call(Call {
            parameters,
            permitted: needs,
            conversation: &self.conversation,
            live: self.live.clone(),
            interrupt: self.interrupt.clone(),
            lent: None,
        })
        .await
    }

    pub fn call(&self, tool: &str, parameters: Value) -> Output {
        block_on(self.make(tool, parameters))
    }

    /// Makes a call with these permissions, regardless of the rules.
    pub fn call_with(&self, tool: &str, parameters: Value, permitted: &[Need]) -> Output {
        let parameters = Parameters::new(parameters.as_object().unwrap().clone());
        block_on(self.permitted(self.tool(tool), &parameters, permitted))
    }

    /// Makes a call that a person has permitted, whatever the rules say.
    pub fn permitted_call(&self, tool: &str, parameters: Value) -> Output {
        let needs = self
            .tool(tool)
            .needs(&Parameters::new(parameters.as_object().unwrap().clone()));
        self.call_with(tool, parameters, &needs.unwrap())
    }

    /// The output of a call that succeeds.
    pub fn done(&self, tool: &str, parameters: Value) -> String {
        let output = self.call(tool, parameters);
        assert!(output.success, "{}", output.text);
        without_time(output.text.as_str())
    }

    /// The output of a call that fails.
    pub fn failed(&self, tool: &str, parameters: Value) -> String {
        let output = self.call(tool, parameters);
        assert!(!output.success, "{}", output.text);
        without_time(output.text.as_str())
    }

    /// A call that succeeds with this in its output.
    pub fn tells(&self, tool: &str, parameters: Value, part: &str) {
        let text = self.done(tool, parameters);
        assert!(text.contains(part), "{part}: {text}");
    }

    /// A call that fails with this in its output.
    pub fn fails(&self, tool: &str, parameters: Value, part: &str) {
        let text = self.failed(tool, parameters);
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// An output without the seconds that a command took, which are told from one on: a busy machine makes any command that slow.
fn without_time(text: &str) -> String {
    let untimed = |line: &str| {
        let Some(ended) = line.strip_prefix("[exit ").or(line.strip_prefix("[ended by signal ")) else {
            return line.to_owned();
        };
        let (status, rest) = ended.split_at(ended.find(|c: char| !c.is_ascii_digit()).unwrap_or(ended.len()));
        let rest = rest.strip_prefix(", ").and_then(|rest| {
            let (seconds, rest) = rest.split_once(" s")?;
            seconds.bytes().all(|byte| byte.is_ascii_digit()).then_some(rest)
        });
        match rest {
            Some("]\n") if status == "0" => String::new(),
            Some(rest) => format!("{}{status}{rest}", &line[..line.len() - ended.len()]),
            None => line.to_owned(),
        }
    };
    text.split_inclusive('\n').map(untimed).collect()
}

pub fn to_read(file: impl AsRef<Path>) -> Value {
    json!({"file_path": file.as_ref()})
}

pub fn to_write(file: impl AsRef<Path>, content: &str) -> Value {
    json!({"file_path": file.as_ref(), "content": content})
}

pub fn to_edit(file: impl AsRef<Path>, old: &str, new: &str) -> Value {
    json!({"file_path": file.as_ref(), "old_string": old, "new_string": new})
}

/// Time limit of any test.
pub const LIMIT: Duration = Duration::from_secs(60);

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let done = runtime.block_on(async { tokio::time::timeout(LIMIT, future).await });
    // Blocked threads do not hold up the test.
    runtime.shutdown_background();
    done.expect("within the limit")
}

pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A session in which everything is permitted, with the usual `PATH`.
pub fn free() -> Trial {
    Trial::with(Permission::All, |options| {
        options.env = vec![(
            "PATH".into(),
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into(),
        )];
    })
}

/// Returns whether a process with this PID is alive.
pub fn is_alive(pid: &str) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !stat.rsplit_once(')').unwrap().1.trim_start().starts_with('Z'),
        Err(_) => false,
    }
}

/// Starts a command and interrupts it once it has printed "begun"; returns its output and the time that it took to end.
pub fn interrupted(trial: &Trial, command: &str) -> (String, Duration) {
    let (sender, mut live) = tokio::sync::mpsc::channel(100);
    let mut trial_live = Live::new("call".into(), sender);
    let interrupt = trial.interrupt.clone();
    let parameters = Parameters::new(json!({"command": command}).as_object().unwrap().clone());
    block_on(async {
        let needs = trial.tool("Bash").needs(&parameters).unwrap();
        let call = trial.tool("Bash").call(Call {
            parameters: &parameters,
            permitted: &needs,
            conversation: &trial.conversation,
            live: std::mem::replace(&mut trial_live, Live::none()),
            interrupt: interrupt.clone(),
            lent: None,
        });
        let throw = async {
            let mut seen = String::new();
            while !seen.contains("begun") {
                seen.push_str(&printed(live.recv().await.unwrap()));
            }
            let clock = MachineClock::start();
            interrupt.throw();
            clock
        };
        let (output, clock) = tokio::join!(call, throw);
        (output.text.as_str().to_owned(), clock.elapsed())
    })
}

/// The text that a running tool has printed.
pub fn printed(event: Event) -> String {
    match event {
        Event::ToolPrinted { text, .. } => text,
        other => panic!("{other:?}"),
    }
}
