_beds = {}


def add_bed(name, metres):
    _beds[name] = metres


def beds():
    return dict(_beds)


def area():
    return sum(metres * 2 for metres in _beds.values())
