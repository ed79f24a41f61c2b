def address(name, street, town):
    return "\n".join(line for line in (name, street, town) if line)


def greeting_name(name):
    return name.split()[0]
