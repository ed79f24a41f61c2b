//! C++ programs, built by clang and by gcc.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use support::{TestDirectory, assert_lines_exist, lines, marked, short, succeed, traced};
use unflake_observe::trace::{ExecutedCode, Instrumented, Limits, Lines, Project, TracedAttempt, instrumented};
use unflake_runners::traced_builds::{Flags, advice, clang, gcc};

struct CompiledPrograms {
    place: TestDirectory,
    root: PathBuf,
    /// By clang and by gcc.
    programs: [(&'static str, PathBuf); 2],
}

impl CompiledPrograms {
    fn project(&self) -> Project {
        Project::new(&self.root)
    }

    fn run(&self, program: &Path, what: &str, attempt: &str) -> Command {
        let mut command = traced(program, &self.place.attempt(attempt), Limits::default());
        command.arg(what).current_dir(&self.place.root);
        command
    }
}

fn compiler(name: &str) -> Command {
    let there = Command::new(name).arg("--version").stdout(Stdio::null()).status();
    assert!(there.is_ok(), "{name} is needed for this test and is not here: install the packages clang and g++");
    Command::new(name)
}

fn compile(name: &str, source: &Path, flags: &Flags, out: &Path, more: &[&str]) {
    let object = out.with_extension("o");
    succeed(
        compiler(name)
            .args(["-std=c++17", "-O0", "-fPIC", "-c"])
            .args(&flags.compile)
            .arg(source)
            .arg("-o")
            .arg(&object),
    );
    succeed(compiler(name).args(&flags.link).arg(&object).args(more).arg("-o").arg(out).args(["-pthread", "-ldl"]));
}

fn built() -> &'static CompiledPrograms {
    static BUILT: OnceLock<CompiledPrograms> = OnceLock::new();
    BUILT.get_or_init(|| {
        let place = TestDirectory::new("cxx");
        let source = place.write("project/main.cpp", MAIN);
        let library = place.write("project/plugin.cpp", PLUGIN);
        place.write("project/parts.h", PARTS);
        let programs = [("clang++", clang(&place.runtime)), ("g++", gcc(&place.runtime))].map(|(name, flags)| {
            let directory = place.root.join(name);
            std::fs::create_dir_all(&directory).unwrap();
            let program = directory.join("main");
            compile(name, &source, &flags, &program, &[]);
            compile(name, &library, &flags, &directory.join("plugin.so"), &["-shared"]);
            (name, program)
        });
        let root = place.root.join("project");
        CompiledPrograms { place, root, programs }
    })
}

fn read(built: &CompiledPrograms, attempt: &str) -> TracedAttempt {
    built.place.read(&built.place.attempt(attempt))
}

#[test]
fn threads_give_the_same_trace_each_time() {
    let built = built();
    for (name, program) in &built.programs {
        let mut first = None;
        for time in 0..20 {
            let attempt = format!("threads-{name}-{time}");
            succeed(&mut built.run(program, "threads", &attempt));
            let attempt = read(built, &attempt);
            assert!(assert_lines_exist(&attempt, &built.project(), &built.root) > 10);
            let lines = lines(&attempt, &built.project());
            let first = first.get_or_insert_with(|| lines.clone());
            assert_eq!(first, &lines, "run {time} by {name} differs");
        }
        let first = first.unwrap();
        assert_eq!(first.keys().collect::<Vec<_>>(), ["main", "main.0", "main.1", "main.1.0"]);
        let sent = marked(&built.root, "main.cpp", "sent");
        assert_eq!(short(&first["main.0"]).iter().filter(|line| **line == sent).count(), 5, "{:#?}", first["main.0"]);
    }
}

#[test]
fn templates_of_a_header_are_the_projects_and_those_of_the_library_are_not() {
    let built = built();
    for (name, program) in &built.programs {
        let attempt = format!("templates-{name}");
        succeed(&mut built.run(program, "templates", &attempt));
        let attempt = read(built, &attempt);
        let executed = ExecutedCode::of(&attempt, &built.project());
        let files: Vec<_> = executed.files.iter().map(|file| file.to_str().unwrap()).collect();
        assert_eq!((files, executed.gaps), (vec!["main.cpp", "parts.h"], vec![]), "{name}");
        let all: Vec<_> = lines(&attempt, &built.project()).into_values().flatten().collect();
        assert!(short(&all).contains(&marked(&built.root, "parts.h", "odd")), "{name}: {all:#?}");
        let function = all.iter().find(|line| line.file.ends_with("parts.h")).unwrap();
        assert!(function.function.contains("sum_odd"), "{function:?}");
    }
}

#[test]
fn however_it_ends_what_came_before_is_kept() {
    let built = built();
    for (name, program) in &built.programs {
        for end in ["abort", "fault", "leave", "kill"] {
            let attempt = format!("{end}-{name}");
            assert!(!built.run(program, end, &attempt).status().unwrap().success());
            let attempt = read(built, &attempt);
            let lines = &lines(&attempt, &built.project())["main"];
            assert_eq!(short(lines).last(), Some(&marked(&built.root, "main.cpp", end)), "{name}: {lines:#?}");
            assert!(!attempt.processes[0].threads[0].head.ended);
        }
    }
}

#[test]
fn a_fork_has_files_of_its_own() {
    let built = built();
    for (name, program) in &built.programs {
        let mut first = None;
        for time in 0..5 {
            let attempt = format!("forks-{name}-{time}");
            succeed(&mut built.run(program, "forks", &attempt));
            let attempt = read(built, &attempt);
            let lines = lines(&attempt, &built.project());
            assert_eq!(first.get_or_insert_with(|| lines.clone()), &lines);
            let mut keys: Vec<_> = attempt.processes.iter().map(|process| &process.key[..]).collect();
            keys.sort();
            // The second copy makes a copy itself, from a thread; a copy that only becomes another program leaves nothing.
            assert_eq!(keys, ["", "/fork main 0", "/fork main 1", "/fork main 1/fork main.0 0"], "{name}");
        }
        let first = first.unwrap();
        let child = |key: &str| short(&first[key]);
        assert!(child("/fork main 0: main").contains(&marked(&built.root, "main.cpp", "child")));
        assert!(child("/fork main 1/fork main.0 0: main").contains(&marked(&built.root, "main.cpp", "grandchild")));
        assert!(!child("main").contains(&marked(&built.root, "main.cpp", "child")));
    }
}

#[test]
fn libraries_that_come_later_are_traced_too() {
    let built = built();
    for (name, program) in &built.programs {
        let attempt = format!("loads-{name}");
        let plugin = program.with_file_name("plugin.so");
        succeed(built.run(program, "loads", &attempt).arg(&plugin));
        let attempt = read(built, &attempt);
        let lines = short(&lines(&attempt, &built.project())["main"]);
        let inside = marked(&built.root, "plugin.cpp", "inside");
        // Loaded, used, unloaded, and the same once more.
        assert_eq!(lines.iter().filter(|line| **line == inside).count(), 2, "{name}: {lines:#?}");
        assert!(ExecutedCode::of(&attempt, &built.project()).is_complete());
    }
}

#[test]
fn the_ways_of_threads_and_signals_survive() {
    let built = built();
    for (name, program) in &built.programs {
        for what in ["exits", "signals", "closes", "many", "errno"] {
            let attempt = format!("{what}-{name}");
            succeed(&mut built.run(program, what, &attempt));
            let attempt = read(built, &attempt);
            let lines = lines(&attempt, &built.project());
            let has = |thread: &str, mark: &str| {
                let mark = marked(&built.root, "main.cpp", mark);
                short(&lines[thread]).iter().filter(|line| **line == mark).count()
            };
            match what {
                "exits" => {
                    assert_eq!((has("main.0", "cleans"), has("main.1", "waits")), (1, 1), "{name} {lines:#?}");
                    assert_eq!(has("main.0", "destructor"), 1, "destructors of keys are traced: {lines:#?}");
                    assert!(attempt.threads().all(|(_, thread)| thread.head.ended));
                }
                "signals" => {
                    // As events: two signals in a row are one line.
                    let process = &attempt.processes[0];
                    let lines = Lines::new(&process.places().unwrap(), &built.project());
                    let main = process.threads.iter().find(|thread| thread.key == "main").unwrap();
                    let ids = main.places().unwrap().filter_map(|id| lines.get(id.unwrap()).cloned());
                    let mark = marked(&built.root, "main.cpp", "handles");
                    assert_eq!(ids.filter(|line| short(std::slice::from_ref(line))[0] == mark).count(), 200, "{name}");
                }
                "closes" => assert!(has("main", "after") > 0 && has("main", "turns") > 0, "{name}"),
                "many" => {
                    assert_eq!(lines.len(), 1001);
                    let taken = std::fs::read(built.place.attempt(&format!("many-{name}")).join("budget")).unwrap();
                    let taken = u64::from_le_bytes(*taken.first_chunk().unwrap());
                    assert!(taken < 200_000, "threads that ended give back what they did not use: {taken}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_binary_shows_whether_it_can_be_traced() {
    let built = built();
    assert_eq!(instrumented(&built.programs[0].1), Ok(Instrumented::Guards));
    assert_eq!(instrumented(&built.programs[1].1), Ok(Instrumented::Addresses));
    let plain = built.place.root.join("plain");
    succeed(compiler("clang++").arg(built.root.join("main.cpp")).arg("-o").arg(&plain).args(["-pthread", "-ldl"]));
    let answer = instrumented(&plain).unwrap();
    assert_eq!(answer, Instrumented::No);
    let advice = advice(answer, &built.place.runtime).unwrap();
    assert!(advice.starts_with("this binary was not built for tracing; build it with clang and `-g -f"), "{advice}");
    let error = instrumented(&built.root.join("main.cpp")).unwrap_err();
    assert!(error.to_string().contains("neither a program nor a library"), "{error}");

    // The trap: the same flag at link time brings clang's own runtime along, unless an option prevents it.
    let flags = clang(&built.place.runtime);
    let object = built.programs[0].1.with_extension("o");
    let trapped = built.place.root.join("trapped");
    let mut link = compiler("clang++");
    link.args(&flags.compile).arg(&object).arg("-o").arg(&trapped).args(["-pthread", "-ldl"]);
    succeed(&mut link);
    assert_eq!(instrumented(&trapped), Ok(Instrumented::OtherRuntime));
    let freed = built.place.root.join("freed");
    let mut link = compiler("clang++");
    link.args(&flags.compile).args(&flags.link).arg(&object).arg("-o").arg(&freed).args(["-pthread", "-ldl"]);
    succeed(&mut link);
    assert_eq!(instrumented(&freed), Ok(Instrumented::Guards));
}

#[test]
fn a_process_that_becomes_another_is_both() {
    let built = built();
    for (name, program) in &built.programs {
        let attempt = format!("becomes-{name}");
        succeed(&mut built.run(program, "becomes", &attempt));
        let attempt = read(built, &attempt);
        let lines = lines(&attempt, &built.project());
        assert_eq!(lines.keys().collect::<Vec<_>>(), ["/became main: main", "main"], "{name}");
        let last = short(&lines["main"]).last().cloned();
        assert_eq!(last, Some(marked(&built.root, "main.cpp", "becomes")), "{name}");
    }
}

#[test]
fn optimised_code_keeps_to_lines_that_exist() {
    let built = built();
    for (name, mut flags) in [("clang++", clang(&built.place.runtime)), ("g++", gcc(&built.place.runtime))] {
        flags.compile.push("-O2".to_owned());
        let program = built.place.root.join(format!("optimised-{name}"));
        compile(name, &built.root.join("main.cpp"), &flags, &program, &[]);
        for what in ["threads", "templates"] {
            let attempt = format!("{what}-optimised-{name}");
            succeed(&mut built.run(&program, what, &attempt));
            assert!(assert_lines_exist(&read(built, &attempt), &built.project(), &built.root) > 3);
        }
    }
}

#[test]
fn missing_debug_information_is_reported() {
    let built = built();
    let source = built.root.join("main.cpp");
    let bare = built.place.root.join("bare");
    let mut flags = clang(&built.place.runtime);
    flags.compile.retain(|flag| flag != "-g");
    compile("clang++", &source, &flags, &bare, &[]);
    succeed(&mut built.run(&bare, "templates", "bare"));
    let attempt = read(built, "bare");
    let executed = ExecutedCode::of(&attempt, &built.project());
    assert!(executed.files.is_empty());
    assert!(executed.gaps[0].contains("have no debug information, only names of functions"), "{:?}", executed.gaps);
    let places = attempt.processes[0].places().unwrap();
    assert!(places.iter().any(|(_, place)| place[0].function.contains("main")), "{places:#?}");

    let split = built.place.root.join("split");
    let mut flags = clang(&built.place.runtime);
    flags.compile.push("-gsplit-dwarf".to_owned());
    compile("clang++", &source, &flags, &split, &[]);
    succeed(&mut built.run(&split, "templates", "split-1"));
    let executed = ExecutedCode::of(&read(built, "split-1"), &built.project());
    assert_eq!((executed.files.len(), executed.gaps), (2, vec![]), "what was split off is found");
    std::fs::remove_file(built.place.root.join("split.dwo")).unwrap();
    succeed(&mut built.run(&split, "templates", "split-2"));
    let executed = ExecutedCode::of(&read(built, "split-2"), &built.project());
    assert!(executed.gaps[0].contains("debug information was split off, and"), "{:?}", executed.gaps);
}

const PARTS: &str = r#"#pragma once
template <typename T> int sum_odd(const T& all) {
  int sum = 0;
  for (int one : all) {
    if (one % 2) {
      sum += one;  // odd
    }
  }
  return sum;
}
"#;

const PLUGIN: &str = r#"extern "C" int entry(int n) {
  if (n > 1) {
    return n * 2;  // inside
  }
  return n;
}
"#;

const MAIN: &str = r#"#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <thread>
#include <vector>

#include "parts.h"

static volatile int always = 1;

static int threads() {
  std::vector<std::promise<int>> slots(5);
  std::vector<std::future<int>> values;
  for (auto& slot : slots) values.push_back(slot.get_future());
  std::thread producer([&] {
    for (int i = 0; i < 5; i++) {
      slots[i].set_value(i);  // sent
    }
  });
  int sum = 0;
  std::thread consumer([&] {
    for (auto& value : values) {
      int one = value.get();
      if (one % 2) sum += one;
    }
    std::thread inner([&] {
      if (sum == 4) sum++;
    });
    inner.join();
  });
  producer.join();
  consumer.join();
  return sum == 5 ? 0 : 1;
}

static int templates() {
  return sum_odd(std::vector<int>{1, 2, 3}) == 4 ? 0 : 1;
}

static void ends(const char* how) {
  if (!strcmp(how, "abort") && always) {
    abort();  // abort
  }
  if (!strcmp(how, "fault") && always) {
    *(volatile int*)nullptr = 1;  // fault
  }
  if (!strcmp(how, "leave") && always) {
    _exit(3);  // leave
  }
  if (!strcmp(how, "kill") && always) {
    kill(getpid(), SIGKILL);  // kill
  }
}

static int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

static int forks() {
  pid_t first = fork();
  if (first == 0) {
    if (always) {
      _exit(0);  // child
    }
  }
  int failed = wait_for(first);
  pid_t second = fork();
  if (second == 0) {
    int status = 1;
    std::thread inner([&] {
      pid_t third = fork();
      if (third == 0) {
        exit(always ? 0 : 1);  // grandchild
      }
      status = wait_for(third);
    });
    inner.join();
    exit(status);
  }
  failed |= wait_for(second);
  return failed | system("true");
}

static int loads(const char* path) {
  int sum = 0;
  for (int i = 0; i < 2; i++) {
    void* library = dlopen(path, RTLD_NOW);
    if (!library) {
      puts(dlerror());
      return 1;
    }
    auto entry = (int (*)(int))dlsym(library, "entry");
    sum += entry(2);
    dlclose(library);
  }
  return sum == 8 ? 0 : 1;
}

static void clean(void*) {
  if (always) always = always + 1;  // cleans
}

static void destroy(void*) {
  if (always) always = always + 1;  // destructor
}

static void* leaves(void* key) {
  pthread_setspecific(*(pthread_key_t*)key, key);
  pthread_cleanup_push(clean, nullptr);
  if (always) pthread_exit(nullptr);
  pthread_cleanup_pop(0);
  return nullptr;
}

static void* waits(void*) {
  while (always) {
    pause();  // waits
  }
  return nullptr;
}

static int exits() {
  pthread_key_t key;
  pthread_key_create(&key, destroy);
  pthread_t one, other;
  pthread_create(&one, nullptr, leaves, &key);
  pthread_join(one, nullptr);
  pthread_create(&other, nullptr, waits, nullptr);
  usleep(50000);
  pthread_cancel(other);
  void* how;
  pthread_join(other, &how);
  return how == PTHREAD_CANCELED ? 0 : 1;
}

static volatile int handled = 0;

static void handle(int) { handled = handled + 1; }  // handles

static int signals() {
  // On a stack as small as the system allows, while the code that is interrupted is traced itself.
  static char small[16384];
  stack_t stack = {};
  stack.ss_sp = small;
  stack.ss_size = sizeof small;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  std::thread sender([main = pthread_self()] {
    for (int i = 0; i < 200; i++) {
      int before = handled;
      pthread_kill(main, SIGUSR1);
      while (handled == before) usleep(10);
    }
  });
  int turns = 0;
  while (handled < 200) {
    for (int i = 0; i < 100; i++) turns ^= handled;
    sched_yield();
  }
  sender.join();
  return 0;
}

static int closes() {
  for (int fd = 3; fd < 256; fd++) close(fd);
  if (chdir("/")) return 1;
  int sum = 0;
  for (int i = 0; i < 60000; i++) {
    if (i % 3) sum += i;  // turns
  }
  return sum != 0 ? 0 : 1;  // after
}

static int many() {
  for (int i = 0; i < 1000; i++) {
    std::thread one([i] {
      if (i % 2) always = 1;
    });
    one.join();
  }
  return 0;
}

__attribute__((noinline)) static int quiet(int n) {
  return n > 1 ? n * 2 : n;
}

static int errors() {
  int wrong = 0;
  std::thread one([&] {
    for (int i = 0; i < 100000; i++) {
      errno = 77;
      quiet(i);
      if (errno != 77) wrong++;
    }
  });
  one.join();
  return wrong;
}

int main(int count, char** words) {
  if (count < 2) return 2;
  const char* what = words[1];
  if (!strcmp(what, "threads")) return threads();
  if (!strcmp(what, "templates")) return templates();
  if (!strcmp(what, "forks")) return forks();
  if (!strcmp(what, "loads")) return loads(words[2]);
  if (!strcmp(what, "exits")) return exits();
  if (!strcmp(what, "signals")) return signals();
  if (!strcmp(what, "closes")) return closes();
  if (!strcmp(what, "many")) return many();
  if (!strcmp(what, "errno")) return errors();
  if (!strcmp(what, "becomes") && always) {
    execl("/proc/self/exe", words[0], "templates", nullptr);  // becomes
  }
  ends(what);
  return 2;
}
"#;
