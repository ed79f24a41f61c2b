_steps = []


def do(step):
    _steps.append(step)


def undo():
    return _steps.pop() if _steps else None


def forget():
    _steps.clear()
