_sown = []


def sow(plant):
    _sown.append(plant)


def is_sown(plant):
    return plant in _sown


def harvest(plant):
    found = is_sown(plant)
    sow(plant)
    return found
