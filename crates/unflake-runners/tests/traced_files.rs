//! The files that C++ programs reach for, built by clang and by gcc.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use support::{TestDirectory, succeed, traced};
use unflake_observe::trace::{Depends, Limits, Project, TracedAttempt};
use unflake_runners::traced_builds::{Flags, clang, gcc};

struct FileReaders {
    place: TestDirectory,
    root: PathBuf,
    /// By clang and by gcc.
    programs: [(&'static str, PathBuf); 2],
}

fn built() -> &'static FileReaders {
    static BUILT: OnceLock<FileReaders> = OnceLock::new();
    BUILT.get_or_init(|| {
        let place = TestDirectory::new("files");
        let source = place.write("project/main.cpp", MAIN);
        for file in ["data/prices.txt", "data/names.txt", "data/deep/inner.txt", "other/here.txt", "shared/real.txt"] {
            place.write(&format!("project/{file}"), "1\n");
        }
        let root = place.root.join("project");
        std::os::unix::fs::symlink("../shared/real.txt", root.join("data/link.txt")).unwrap();
        let compilers = [("clang++", clang(&place.runtime)), ("g++", gcc(&place.runtime))];
        // Both at once: most of the time of this test goes here.
        let compile = |(name, flags): &(&'static str, Flags)| {
            let (program, object) = (place.root.join(name), place.root.join(format!("{name}.o")));
            let mut compile = Command::new(name);
            compile.args(["-std=c++17", "-O1", "-c"]).args(&flags.compile).arg(&source).arg("-o").arg(&object);
            succeed(&mut compile);
            succeed(
                Command::new(name).args(&flags.link).arg(&object).arg("-o").arg(&program).args(["-pthread", "-ldl"]),
            );
            (*name, program)
        };
        let programs = std::thread::scope(|scope| {
            let started = compilers.each_ref().map(|one| scope.spawn(move || compile(one)));
            started.map(|one| one.join().unwrap())
        });
        FileReaders { place, root, programs }
    })
}

impl FileReaders {
    fn command(&self, program: &Path, what: &str, attempt: &str) -> Command {
        let mut command = traced(program, &self.place.attempt(attempt), Limits::default());
        command.arg(what).current_dir(&self.root);
        command
    }

    fn depends(&self, attempt: &str) -> (TracedAttempt, Depends) {
        let attempt = self.place.read(&self.place.attempt(attempt));
        let depends = Depends::of(&attempt, &Project::new(&self.root));
        (attempt, depends)
    }

    /// Runs it once by each compiler.
    fn each(&self, what: &str, check: impl Fn(Depends, &str)) {
        for (name, program) in &self.programs {
            let attempt = format!("{what}-{name}");
            succeed(&mut self.command(program, what, &attempt));
            check(self.depends(&attempt).1, name);
        }
    }
}

fn texts(paths: &BTreeSet<PathBuf>) -> Vec<&str> {
    paths.iter().map(|path| path.to_str().unwrap()).collect()
}

#[test]
fn reads_lookups_listings_and_writes_are_distinguished() {
    built().each("reads", |depends, name| {
        assert_eq!(texts(&depends.executed), ["main.cpp"], "{name}");
        assert_eq!(
            texts(&depends.read),
            [
                "data/deep/inner.txt",
                "data/link.txt",
                "data/names.txt",
                "data/prices.txt",
                "other/here.txt",
                "shared/real.txt"
            ],
            "{name}"
        );
        assert_eq!(texts(&depends.missed), ["data/missing.txt", "no/such.txt", "other/gone.txt"], "{name}");
        assert_eq!(texts(&depends.listed), ["data", "data/deep"], "{name}");
        assert_eq!(texts(&depends.seen), ["main.cpp", "other", "shared"], "{name}");
        assert_eq!(texts(&depends.written), ["made", "made/new\t\n.txt", "made/old.txt"], "{name}");
        assert_eq!((depends.programs.len(), depends.gaps), (0, vec![]), "{name}");
    });
}

#[test]
fn programs_that_are_not_traced_are_gaps() {
    built().each("starts", |depends, name| {
        let shell = |path: &Path| path.ends_with("sh");
        assert!(depends.programs.iter().any(|path| shell(path)), "{name}: {depends:#?}");
        let started: Vec<_> = depends.programs.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(started.iter().collect::<BTreeSet<_>>(), BTreeSet::from([&"env", &"false", &"ls", &"sh", &"true"]));
        for path in &depends.programs {
            assert!(path.is_file(), "{name}: {}", path.display());
            let gap = format!("started {}: its effects are unknown", path.display());
            assert!(depends.gaps.contains(&gap), "{name}: {gap} {depends:#?}");
        }
        assert_eq!(texts(&depends.missed), ["no-such-program"], "{name}");
        assert_eq!(depends.gaps.len(), depends.programs.len(), "{name}: {:#?}", depends.gaps);
    });
}

#[test]
fn a_traced_child_is_no_gap_unless_its_environment_was_replaced() {
    let built = built();
    for (name, program) in &built.programs {
        for (what, gaps) in [("again", 0), ("alone", 1)] {
            let attempt = format!("{what}-{name}");
            succeed(&mut built.command(program, what, &attempt));
            let (_, depends) = built.depends(&attempt);
            assert_eq!(depends.gaps.len(), gaps, "{name}: {depends:#?}");
            assert!(depends.gaps.iter().all(|gap| gap.contains("with an environment of its own")), "{depends:#?}");
            assert_eq!(depends.read.contains(Path::new("data/names.txt")), what == "again", "{name}: {depends:#?}");
        }
    }
}

#[test]
fn at_any_time_and_in_any_place() {
    built().each("times", |depends, name| {
        let read = ["data/deep/inner.txt", "data/names.txt", "data/prices.txt", "other/here.txt"];
        assert_eq!(texts(&depends.read), read, "before main, in a signal handler, in a copy, at the end: {name}");
        assert_eq!(depends.gaps, [""; 0], "{name}");
    });
}

#[test]
fn nothing_is_different_for_the_program() {
    // It checks itself: errno, paths that point nowhere, cancellation in `open`, an exception through `nftw`, dlerror.
    built().each("same", |depends, name| {
        assert!(depends.gaps.iter().any(|gap| gap.starts_with("walked through ")), "{name}: {:#?}", depends.gaps);
        assert!(depends.listed.contains(Path::new("data")), "{name}: {depends:#?}");
    });
    let built = built();
    for (_, program) in &built.programs {
        succeed(Command::new(program).arg("same").current_dir(&built.root));
    }
}

#[test]
fn what_was_opened_before_a_kill_is_kept() {
    let built = built();
    for (name, program) in &built.programs {
        let attempt = format!("killed-{name}");
        assert!(!built.command(program, "killed", &attempt).status().unwrap().success());
        assert_eq!(texts(&built.depends(&attempt).1.read), ["data/prices.txt"], "{name}");
    }
}

#[test]
fn repetitions_are_dropped_and_a_limit_is_reported() {
    built().each("often", |depends, name| {
        assert_eq!(texts(&depends.read), ["data/names.txt", "data/prices.txt"], "{name}");
        let left_out = "some files are missing: too many in one process";
        assert_eq!(depends.gaps, [left_out], "{name}");
        // One of the 16384 is a file of the system.
        assert_eq!(depends.missed.len() + depends.read.len(), 16383, "{name}");
    });
    let built = built();
    let attempt = TracedAttempt::open(&built.place.attempt("often-clang++")).unwrap();
    assert_eq!(attempt.processes.len(), 1);
}

#[test]
fn a_library_that_was_not_built_for_tracing_is_a_gap() {
    let built = built();
    let source = built.place.write("project/plain.c", "int plain(void) { return 1; }\n");
    succeed(Command::new("gcc").args(["-shared", "-fPIC"]).arg(source).arg("-o").arg(built.root.join("plain.so")));
    built.each("loads", |depends, name| {
        assert_eq!(texts(&depends.read), ["plain.so"], "{name}");
        let gap = "/plain.so, which was not built for tracing: its effects are unknown";
        assert!(depends.gaps.len() == 1 && depends.gaps[0].ends_with(gap), "{name}: {:#?}", depends.gaps);
    });
}

#[test]
fn accesses_that_cannot_be_written_are_a_gap() {
    built().each("full", |depends, name| {
        assert_eq!(depends.gaps, ["some files are missing: they could not be written"], "{name}");
    });
}

#[test]
fn calls_that_go_elsewhere_are_reported() {
    let built = built();
    let (_, program) = &built.programs[0];
    let library = succeed(Command::new("ldd").arg(program));
    let library = String::from_utf8(library.stdout).unwrap();
    let library = library.lines().find_map(|line| line.split_once("libc.so.6 => ")?.1.split(' ').next()).unwrap();
    // With the C library before the runtime nothing arrives.
    succeed(built.command(program, "names", "elsewhere").env("LD_PRELOAD", library));
    let (_, depends) = built.depends("elsewhere");
    assert!(
        depends.gaps[0].starts_with("files may have been opened unobserved: `open` is replaced in "),
        "{depends:#?}"
    );
}

#[test]
fn a_tracer_that_does_not_say_and_lines_that_are_broken_are_gaps() {
    let directory = tempfile::tempdir().unwrap();
    let part = directory.path().join("7-1");
    fs::create_dir(&part).unwrap();
    fs::write(part.join("process"), "unflake-trace 1\npid 7\n").unwrap();
    fs::write(part.join("places"), "unflake-places 1\n").unwrap();
    let project = Project::new(directory.path());
    let gaps = |project: &Project| Depends::of(&TracedAttempt::open(directory.path()).unwrap(), project).gaps;
    assert_eq!(gaps(&project), ["which files were opened was not recorded"]);
    fs::write(part.join("process"), "unflake-trace 1\npid 7\nfiles\n").unwrap();
    assert_eq!(gaps(&project), [""; 0]);
    fs::write(part.join("files"), b"read\nsniffed\t/a\nread\t/\xff\\").unwrap();
    assert_eq!(gaps(&project), ["not understood: \"sniffed\\t/a\""]);
}

const MAIN: &str = r#"#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

extern char** environ;
static char* self;

#define CHECK(what) do { if (!(what)) { printf("line %d: %s, errno %d\n", __LINE__, #what, errno); exit(1); } } while (0)

static void touch(const char* path) {
  int fd = open(path, O_RDONLY);
  if (fd >= 0) close(fd);
}

static int reads() {
  std::string word;
  std::ifstream("data/prices.txt") >> word;
  CHECK(word == "1");
  FILE* names = fopen("data/names.txt", "r");
  CHECK(names && fgetc(names) == '1');
  fclose(names);
  CHECK(!fopen("data/missing.txt", "r") && errno == ENOENT);
  CHECK(access("no/such.txt", F_OK) == -1 && errno == ENOENT);
  DIR* data = opendir("data");
  CHECK(data && readdir(data));
  int inner = openat(dirfd(data), "deep/inner.txt", O_RDONLY);
  CHECK(inner >= 0);
  close(inner);
  closedir(data);
  struct dirent** found;
  CHECK(scandir("data/deep", &found, nullptr, alphasort) == 3);
  touch("data/link.txt");
  struct stat about;
  CHECK(stat("main.cpp", &about) == 0 && lstat("shared", &about) == 0);
  char real[PATH_MAX];
  CHECK(realpath("data/../other", real));
  mkdir("made", 0755);
  int made = open("made/old.txt", O_WRONLY | O_CREAT | O_TRUNC, 0640);
  CHECK(made >= 0 && fstat(made, &about) == 0 && (about.st_mode & 0777) == 0640);
  close(made);
  CHECK(rename("made/old.txt", "made/new\t\n.txt") == 0);
  CHECK(unlink("made/new\t\n.txt") == 0 && rmdir("made") == 0);
  CHECK(chdir("other") == 0);
  touch("here.txt");
  touch("gone.txt");
  return 0;
}

static int ended(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

static int starts() {
  CHECK(system("true") == 0);
  FILE* pipe = popen("true", "r");
  CHECK(pipe && pclose(pipe) == 0);
  pid_t child;
  char* words[] = {(char*)"ls", (char*)"data", nullptr};
  CHECK(posix_spawnp(&child, "ls", nullptr, nullptr, words, environ) == 0 && ended(child) == 0);
  CHECK(posix_spawn(&child, "./no-such-program", nullptr, nullptr, words, environ) == ENOENT);
  child = fork();
  if (child == 0) {
    execlp("true", "true", "a", "b", "c", "d", "e", "f", "g", nullptr);
    _exit(1);
  }
  CHECK(ended(child) == 0);
  child = fork();
  if (child == 0) {
    char* none[] = {(char*)"false", nullptr};
    execvp("false", none);
    _exit(0);
  }
  CHECK(ended(child) != 0);
  child = vfork();
  if (child == 0) {
    execl("/usr/bin/env", "env", "true", nullptr);
    _exit(1);
  }
  CHECK(ended(child) == 0);
  return 0;
}

static int again(char** variables) {
  pid_t child;
  char* words[] = {self, (char*)"names", nullptr};
  CHECK(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, words, variables) == 0 && ended(child) == 0);
  return 0;
}

static bool timed = false;
static struct Early {
  Early() {
    FILE* line = fopen("/proc/self/cmdline", "r");
    char text[4096] = {};
    size_t length = fread(text, 1, sizeof text - 1, line);
    fclose(line);
    timed = length > 6 && !strcmp(text + length - 6, "times");
    if (timed) touch("data/prices.txt");
  }
} early;

static void handle(int) { touch("data/names.txt"); }
static void at_end() { touch("other/here.txt"); }

static int times() {
  // On a small stack, while the rest of the program opens files, too.
  static char small[16384];
  stack_t stack = {};
  stack.ss_sp = small;
  stack.ss_size = sizeof small;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  pid_t main = getpid();
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 200; i++) {
      kill(main, SIGUSR1);
      usleep(50);
    }
    touch("data/deep/inner.txt");
    _exit(0);
  }
  for (int i = 0; i < 3000; i++) touch(("/none/" + std::to_string(i)).c_str());
  while (ended(child) != 0) {
  }
  atexit(at_end);
  return 0;
}

static void* waits(void* fifo) {
  open((const char*)fifo, O_RDONLY);
  return nullptr;
}

static int thrown(const char*, const struct stat*, int, struct FTW*) { throw 7; }
static int passed(const char*, const struct stat*, int, struct FTW*) { return 0; }

static int same() {
  volatile long nowhere = 1;
  const char* bad = (const char*)nowhere;
  struct stat about;
  CHECK(open(bad, O_RDONLY) == -1 && errno == EFAULT);
  CHECK(stat(bad, &about) == -1 && errno == EFAULT);
  CHECK(access(bad, R_OK) == -1 && errno == EFAULT);
  CHECK(execl(bad, "a", nullptr) == -1 && errno == EFAULT);
  CHECK(freopen(nullptr, "r", stdin));
  CHECK(!dlerror());
  errno = 77;
  touch("data/prices.txt");
  CHECK(errno == 77);
  int here = open("data/prices.txt", O_RDONLY);
  CHECK(here == 3 || here == open("data/prices.txt", O_RDONLY) - 1);
  CHECK(open("data/prices.txt/x", O_RDONLY) == -1 && errno == ENOTDIR);
  CHECK(readlink("data/prices.txt", (char*)&about, 4) == -1 && errno == EINVAL);
  unlink("fifo");
  CHECK(mkfifo("fifo", 0600) == 0);
  pthread_t thread;
  pthread_create(&thread, nullptr, waits, (void*)"fifo");
  usleep(20000);
  pthread_cancel(thread);
  void* how;
  pthread_join(thread, &how);
  CHECK(how == PTHREAD_CANCELED);
  CHECK(nftw("data", passed, 5, 0) == 0);
  int caught = 0;
  try {
    nftw("data", thrown, 5, 0);
  } catch (int what) {
    caught = what;
  }
  CHECK(caught == 7);
  glob_t found = {};
  CHECK(glob("data/*.txt", 0, nullptr, &found) == 0 && found.gl_pathc == 3);
  return 0;
}

static int full() {
  struct rlimit none = {3, 3};
  CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
  struct stat about;
  CHECK(stat("data/names.txt", &about) == 0);
  return 0;
}

static int often() {
  for (int i = 0; i < 1000; i++) touch("data/prices.txt");
  std::ifstream names("data/names.txt");
  for (int i = 0; i < 20000; i++) touch(("missing-" + std::to_string(i)).c_str());
  return 0;
}

int main(int count, char** words) {
  if (count < 2) return 2;
  self = words[0];
  std::string what = words[1];
  if (what == "reads") return reads();
  if (what == "starts") return starts();
  if (what == "again") return again(environ);
  char* none[] = {nullptr};
  if (what == "alone") return again(none);
  if (what == "names") touch("data/names.txt");
  if (what == "names") return 0;
  if (what == "times") return times();
  if (what == "same") return same();
  if (what == "often") return often();
  if (what == "full") return full();
  if (what == "loads") return dlopen("./plain.so", RTLD_NOW) ? 0 : 1;
  if (what == "killed") {
    touch("data/prices.txt");
    kill(getpid(), SIGKILL);
  }
  return 2;
}
"#;
