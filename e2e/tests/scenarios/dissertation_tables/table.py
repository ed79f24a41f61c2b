"""Six lines, each executed where it is asked for."""


def execute(wanted):
    done = 0
    if 1 in wanted:
        done += 1
    if 2 in wanted:
        done += 2
    if 3 in wanted:
        done += 3
    if 4 in wanted:
        done += 4
    if 5 in wanted:
        done += 5
    if 6 in wanted:
        done += 6
    return done


def run_number(name):
    """0 in the first run, 1 in the second: a file outside of the project grows."""
    with open("../runs-" + name, "a+b") as file:
        file.write(b".")
        return file.tell() - 1
