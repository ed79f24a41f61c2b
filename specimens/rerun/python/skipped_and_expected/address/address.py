def normalise(address):
    return ", ".join(part.strip() for part in address.split(",") if part.strip())


def country(address):
    return normalise(address).rsplit(", ", 1)[-1]
