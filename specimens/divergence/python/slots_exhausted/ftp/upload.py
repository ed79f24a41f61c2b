import uuid


def upload(name, link, slots, log):
    while True:
        log.append("%s %s" % (uuid.uuid4(), name))
        slots.take()
        if link.is_cut():
            continue
        link.carry(name)
        slots.give_back()
        return len(log)
