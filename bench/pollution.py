"""`unflake nio` and `unflake order` on real projects, beside their rivals: `python3 bench/pollution.py`.

Sets up all it needs below .venvs/ and builds unflake. What is known of the projects is in pollution/cases.csv, what was judged of
whatever else is found, in pollution/judged.csv. `--only NAME` for a part of it.
"""

import argparse
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "pollution"))

import projects
import rivals
import suites
import truth
from measure import Contender, alternate, least, median, once
from run import Table
from thousand import QUESTIONS, Thousand

SEED = 20261115


def known(arguments):
    """Whole suites, victims unknown: recall of the known cases, and everything else that is found."""
    recall = Table(
        "Known cases, whole suites", "case", "kind", "plain pytest shows it", "found", "culprit", "state", "cell", "written at", "wall s"
    )
    others = Table("Found besides", "package", "command", "test", "kind", "plain pytest shows it", "judged")
    judged = truth.judgements()
    cases = projects.table("cases.csv")
    for package, project in chosen(arguments).items():
        project.prepare()
        ours = [case for case in cases if case["package"] == package]
        for command in ("nio", "order"):
            words = [command] if command == "nio" else [command, "--seed", str(SEED)]
            document, cost = truth.search(project, *words, seconds=arguments.seconds)
            wanted = [case for case in ours if (case["kind"] == "NIO") == (command == "nio") and case["kind"] != "NOD"]
            for case in wanted:
                recall.row(*verdict(project, case, truth.Answer(case, document)), "%.1f" % cost.wall)
            for row, finding in truth.extras(document, command, package, ours):
                shown = shown_by_plain(project, row["kind"], finding)
                judgement = judged.get((package, row["test"], row["kind"]))
                others.row(*row.values(), shown, judgement["judgement"] if judgement else "**not yet**")
            for note in document["notes"]:
                others.notes.append("%s, %s: %s" % (project.name, command, note))
    return [recall, others]


def verdict(project, case, answer):
    before = [case["culprit"]] if case["culprit"] else []
    shown = truth.plain_shows(project, case["kind"], case["test"], before)
    culprit = "itself" if not before else "the known one" if answer.culprit else "other: %s" % (answer.other,)
    return (
        case["case"], case["kind"], "yes" if shown else "no", "yes" if answer.finding else "**no**", culprit, answer.state,
        ", ".join(answer.cells), ", ".join(answer.lines),
    )


def shown_by_plain(project, kind, finding):
    """Whether the tests that a finding names show it in plain pytest."""
    if kind == "NOD":
        return "by chance"
    # One that was seen and not searched has no culprits yet, only the order in which it was seen.
    before = next(iter(truth.culprits_of(finding)), finding.get("order", [])[:-1])
    shown = "yes" if truth.plain_shows(project, kind, finding["test"], before) else "no"
    return shown + (", after %d tests" % len(before) if len(before) > 3 else "")


def given(arguments):
    """The victim is given: who finds the known culprit, and in what time."""
    result = Table("Culprit of a given test", "case", "contender", "answer", "wall s", "CPU s")
    for case in projects.table("cases.csv"):
        project = chosen(arguments).get(case["package"])
        if project is None or not case["culprit"]:
            continue
        project.prepare()
        for name, command, rivals in searches(project.python, case["test"], project):
            answer, cost = ask(project.directory, project.variables(*rivals), name, command)
            result.row(case["case"], name, named_culprits(answer, [case["culprit"]]), "%.2f" % cost.wall, "%.2f" % cost.cpu)
    return [result]


def searches(python, test, project):
    """Who can be asked for the culprit of a test, and how."""
    where = next(iter(project.options), ".") if project else "."
    options = ["-q", "-p", "no:cacheprovider", *(project.options if project else [])]
    yield "unflake order", [suites.UNFLAKE, "order", test, "--", python, "-m", "pytest", *options], ()
    ours = [suites.UNFLAKE, "order", "--no-state", test, "--", python, "-m", "pytest", *options]
    yield "unflake order --no-state", ours, ()
    rival = "detect-test-pollution"
    # Not with -m: it hands its own name to pytest as that of a plugin.
    start = "import sys, detect_test_pollution; sys.exit(detect_test_pollution.main())"
    yield rival, [python, "-c", start, "--failing-test", test, "--tests", where], (rival,)


def ask(directory, variables, name, command, seconds=600):
    """What a contender says, and what it cost. One that goes on for ever is ended."""
    output = directory / ".output"
    line = ["sh", "-c", 'exec timeout %d "$@" > .output 2>&1' % seconds, "sh", *command]
    cost = once(Contender(name, line, directory, variables, tuple(range(256))))
    text = output.read_text(errors="replace")
    output.unlink()
    return text, cost


def named_culprits(text, culprits):
    """Whether the output names the culprits; else its last line."""
    found = re.search(r"the polluting test is: .*|(?:fails|passes(?: only)?) after .*::.*", text)
    if found and all(one in found.group(0) for one in culprits):
        return "named"
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return "not named: %s" % (found.group(0) if found else lines[-1] if lines else "no output")[:120]


def beside(arguments):
    """The known cases again, victims unknown: who sees them, who names the culprit, and what else each of them finds."""
    result = Table("Known cases, beside rivals", "contender", "case", "answer", "found besides", "wall s", "CPU s")
    for package, project in chosen(arguments).items():
        project.prepare()
        ours = [case for case in projects.table("cases.csv") if case["package"] == package]
        twice = [case for case in ours if case["kind"] == "NIO"]
        ordered = [case for case in ours if case["kind"].startswith("OD")]
        asked = [("unflake nio", twice, unflake("nio", arguments)), ("pytest-repeat --count 2", twice, rivals.repeat)]
        asked += [("unflake order", ordered, unflake("order", arguments)), ("whyflaky", ordered, rivals.whyflaky)]
        asked += [("pytest-random-order, %d orders" % rivals.ORDERS, ordered, rivals.random_order)]
        for name, cases, ask_it in asked:
            if cases:
                answers, others, cost = ask_it(project, cases)
                for case in cases:
                    result.row(name, case["case"], answers[case["case"]], others, "%.1f" % cost.wall, "%.1f" % cost.cpu)
        for case in ordered:
            answer, cost = rivals.ipflakies(project, case)
            result.row("ipflakies, the test given", case["case"], answer, "", "%.1f" % cost.wall, "%.1f" % cost.cpu)
    return [result]


def unflake(command, arguments):
    """As the rivals answer."""

    def ask_it(project, cases):
        words = [command] if command == "nio" else [command, "--seed", str(SEED)]
        document, cost = truth.search(project, *words, seconds=arguments.seconds)
        answers = {}
        for case in cases:
            answer = truth.Answer(case, document)
            culprit = "with the culprit" if answer.culprit else "with another"
            answers[case["case"]] = "%s, state %s" % (culprit, answer.state) if answer.finding else "no"
        return answers, len(list(truth.extras(document, command, project.package, cases))), cost

    return ask_it


def thousand(arguments):
    """A thousand tests of a millisecond; the victim is given."""
    suite = Thousand(SEED)
    title = "The culprit in a thousand tests (seed %d)" % SEED
    result = Table(title, "question", "contender", "answer", "wall s, median / min", "CPU s, median / min", "times")
    python, variables = project_like()
    for question in QUESTIONS:
        test, culprits = suite.question(question)
        costs, answers = {}, {}
        for round in range(arguments.times):
            contenders = list(searches(python, test, None))
            for name, command, rivals in contenders if round % 2 == 0 else reversed(contenders):
                answer, cost = ask(suite.directory, variables(*rivals), name, command)
                costs.setdefault(name, []).append(cost)
                answers.setdefault(name, set()).add(named_culprits(answer, culprits))
        for name, its in costs.items():
            result.row(question, name, "; ".join(sorted(answers[name])), both(its, "wall"), both(its, "cpu"), len(its))
    return [result]


def project_like():
    """A Python with pytest, and variables by rival, for suites that were made here."""
    project = projects.projects()["zanna==0.3.1"].prepare()
    return project.python, project.variables


def both(costs, what):
    return "%.2f / %.2f" % (median(costs, what), least(costs, what))


def cost(arguments):
    """What it costs to run every test in a fork of its own, against all of them in one process."""
    result = Table(
        "NIO: isolated-method against entire-suite", "suite", "mode", "wall s, median / min", "×", "CPU s, median / min", "×", "times"
    )
    slow = suites.made(60, "slow", lambda number: "import time\ntime.sleep(0.03)", a_file=20)
    for suite in [slow, suites.real("marshmallow"), suites.real("jinja2")]:
        contenders = [
            Contender(mode, [suites.UNFLAKE, "nio", "--no-state", "--mode", mode, "--", *suite.pytest()], suite.directory, suite.variables(), (0, 1))
            for mode in ("entire-suite", "isolated-class", "isolated-method")
        ]
        costs = alternate(contenders, arguments.times)
        base = costs["entire-suite"]
        for mode, its in costs.items():
            ratios = ["%.2f / %.2f" % (median(its, what) / median(base, what), least(its, what) / least(base, what)) for what in ("wall", "cpu")]
            result.row(suite.name, mode, both(its, "wall"), ratios[0], both(its, "cpu"), ratios[1], arguments.times)
    return [result]


def healthy(arguments):
    """Suites without known tests of this kind: every finding must be true."""
    result = Table("Healthy suites", "suite", "command", "tests", "attempts", "found", "covered")
    for name in ("click", "jinja2", "marshmallow"):
        suite = suites.real(name)
        for words in (["nio"], ["order", "--seed", str(SEED)]):
            document, _ = truth.search(suite, *words, seconds=arguments.seconds)
            found = ["%s %s" % (truth.kind_of(one), one["test"]) for one in document["findings"] if truth.kind_of(one)]
            result.row(name, words[0], len(document["tests"]), len(document["attempts"]), "; ".join(found) or "nothing", "; ".join(document["notes"]))
    return [result]


def chosen(arguments):
    all_of_them = projects.projects()
    return {package: one for package, one in all_of_them.items() if not arguments.package or one.name in arguments.package}


BENCHES = {"known": known, "given": given, "beside": beside, "thousand": thousand, "cost": cost, "healthy": healthy}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", choices=BENCHES, metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--package", action="append", help="only this one of the real projects; may be repeated")
    parser.add_argument("--seconds", type=int, default=300, help="how long a search goes on (300)")
    parser.add_argument("--times", type=int, default=3, help="how often a time is measured (3)")
    parser.add_argument("--markdown", metavar="FILE", help="write the tables there too")
    arguments = parser.parse_args()
    suites.prepare()
    projects.prepare_rivals()
    written = []
    for name in arguments.only or BENCHES:
        for table in BENCHES[name](arguments):
            print(table.text(), flush=True)
            written.append(table.markdown())
        if arguments.markdown:
            Path(arguments.markdown).write_text("\n".join(written))


if __name__ == "__main__":
    sys.exit(main())
