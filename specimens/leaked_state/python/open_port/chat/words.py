def tidy(line):
    return " ".join(line.split())
